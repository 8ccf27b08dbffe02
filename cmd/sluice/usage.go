package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/admin"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// usageTimeout bounds the reading of a report, which may cover many teams and days.
const usageTimeout = 30 * time.Second

// mostAnswer bounds an answer of the admin listener in bytes.
const mostAnswer = 16 << 20

// usageCommand is sluice usage.
type usageCommand struct {
	Team  string `placeholder:"T" help:"Only this team's use."`
	From  string `placeholder:"D" help:"From this day on, such as 2026-11-21, in UTC."`
	To    string `placeholder:"D" help:"To this day; today if absent."`
	Days  int    `placeholder:"N" help:"The last N days, today included; 1 if neither this nor --from is given."`
	By    string `placeholder:"W" help:"By tag, see tag_key of the teams file, by key, or by account at the service, instead of model and endpoint." xor:"by"`
	Tags  bool   `help:"As --by tag." xor:"by,kinds"`
	Kinds bool   `help:"By kind, such as cached input, with its spend and its price, instead of unit; with --by account of each account." xor:"kinds"`
	JSON  bool   `help:"As JSON." xor:"form"`
	CSV   bool   `help:"As CSV." xor:"form"`
	Focus bool   `help:"As CSV in the form of FOCUS 1.2, for programs that read bills." xor:"form,by,kinds"`
}

// Run writes the ledger.
func (u usageCommand) Run(ctx context.Context, p program) error {
	report, s, err := u.report(ctx, p)
	if err != nil {
		return err
	}
	switch {
	case u.JSON:
		return json.NewEncoder(p.stdout).Encode(report)
	case u.CSV:
		return report.WriteCSV(p.stdout, u.division())
	case u.Focus:
		bill, err := admin.NewFocus(p.stdout, report.Currency, s.ProviderName)
		if err != nil {
			return fmt.Errorf("--focus: %w", err)
		}
		bill.Add(report.Rows)
		return bill.Flush()
	}
	return report.WriteText(p.stdout, u.division())
}

// division returns the dimension of the report.
func (u usageCommand) division() admin.Division {
	switch {
	case u.kinds() && u.By != "":
		return admin.ByAccountKind
	case u.kinds():
		return admin.ByKind
	}
	return admin.Division(u.by())
}

func (u usageCommand) kinds() bool { return u.Kinds || u.Focus }

// report reads the ledger from Redis, or from the process at the environment's admin listener.
func (u usageCommand) report(ctx context.Context, p program) (report admin.UsageReport, s settings.Settings, err error) {
	now := time.Now().UTC()
	from, to, err := u.span(now)
	if err != nil {
		return report, s, badUsage{err}
	}
	if oldest := limit.OldestDay(now); from < oldest {
		_, _ = fmt.Fprintf(p.stderr, "the ledger keeps %d days: the first that it has is %s\n", limit.LedgerDays, oldest)
	}
	s, err = settingsFor(p.environ, "REDIS_URL", "REDIS_URL_FILE", "ADMIN_LISTEN", "PROVIDER_NAME")
	if err != nil {
		return report, s, err
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	if s.RedisURL != "" {
		report, err = u.readLedger(ctx, s, from, to)
	} else {
		report, err = u.fetch(ctx, s, from, to)
	}
	return report, s, err
}

// span returns the first and the last day of the report.
func (u usageCommand) span(now time.Time) (from, to string, err error) {
	from, to = u.From, u.To
	if to == "" {
		to = now.Format(time.DateOnly)
	}
	by, known := limit.LedgerBy(u.By)
	switch {
	case !known:
		return "", "", errors.New("--by: allowed: tag, key, account")
	case u.Kinds && !by.HasKinds():
		return "", "", errors.New("--kinds: allowed without --by, or with --by account: the ledgers of tags and keys have no kinds")
	case u.Days != 0 && (from != "" || u.To != ""):
		return "", "", errors.New("--days and --from with --to: allowed: one of them")
	case u.Days < 0:
		return "", "", errors.New("--days: allowed: a whole number of at least 1")
	case u.Days > 0:
		from = now.AddDate(0, 0, 1-u.Days).Format(time.DateOnly)
	case from == "":
		from = to
	}
	if _, ok := limit.Days(from, to); !ok {
		return "", "", errors.New("--from, --to, --days: allowed: days such as " + now.Format(time.DateOnly) +
			", --from not after --to, at most 400 days")
	}
	return from, to, nil
}

// settingsFor reads the settings of a command that needs only the named ones, and ignores faults of the others.
func settingsFor(environ []string, names ...string) (settings.Settings, error) {
	s, err := settings.Load(environ)
	var all settings.Faults
	_ = errors.As(err, &all)
	needed := slices.DeleteFunc(all, func(f settings.Fault) bool {
		return !slices.Contains(names, strings.TrimPrefix(f.Name, settings.Prefix))
	})
	return s, needed.Err()
}

func (u usageCommand) readLedger(ctx context.Context, s settings.Settings, from, to string) (report admin.UsageReport, err error) {
	days, _ := limit.Days(from, to) // span has checked them
	client := openPatient(s)
	defer func() { _ = client.Close() }()
	file := fileOrNone(s)
	in := file.In()
	if m, known, err := redisstore.CountsIn(ctx, client); known && err == nil {
		in.Money = m
	}
	by, _ := limit.LedgerBy(u.by())
	balances := redisstore.New(client)
	rows, err := balances.Rows(ctx, limit.QueryOf(u.Team, days, by))
	if err != nil {
		return report, fmt.Errorf("read the ledger in Redis: %w", err)
	}
	report = admin.NewUsageReport(in, from, to, rows, u.kinds())
	inForce := store.InForce(ctx, directoryStore(s, client), file, time.Now())
	return report, report.AddLimits(ctx, inForce, u.Team, func(ctx context.Context, t *teams.Team, k limit.ScopeKind,
		at time.Time,
	) ([]limit.Standing, error) {
		return balances.LookInside(ctx, t, k, at)
	})
}

// openPatient opens Redis for a command, with a long timeout: a person waits longer than a request.
func openPatient(s settings.Settings) *redisclient.Client {
	s.RedisTimeout = usageTimeout
	return openRedis(s, slog.New(slog.DiscardHandler), nil, 0, nil)
}

// fileOrNone returns the teams file, or one without teams if it cannot be read.
func fileOrNone(s settings.Settings) *teams.File {
	content, _ := files.Read(s.TeamsFile)
	if file, bad := judgeTeams(content, nil, nil); bad == nil {
		return file
	}
	return &teams.File{}
}

// fetch asks a process that keeps the ledger in memory.
func (u usageCommand) fetch(ctx context.Context, s settings.Settings, from, to string) (report admin.UsageReport, err error) {
	query := url.Values{"team": {u.Team}, "from": {from}, "to": {to}, "by": {u.by()}}
	if u.kinds() {
		query.Set("kinds", "")
	}
	target := "http://" + dialable(s.AdminListen) + "/usage?" + query.Encode()
	content, err := askAdmin(ctx, target)
	if err != nil {
		return report, fmt.Errorf("ask the gateway at %sADMIN_LISTEN, since %sREDIS_URL is not set: %w", settings.Prefix, settings.Prefix, err)
	}
	return report, json.Unmarshal(content, &report)
}

// askAdmin gets a path of an admin listener. It does not use the default client, which obeys HTTP_PROXY.
func askAdmin(ctx context.Context, target string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(target + " answers " + answer.Status)
	}
	return content, err
}

// by returns the dimension of the ledger that is read.
func (u usageCommand) by() string {
	if u.Tags {
		return "tag"
	}
	return u.By
}
