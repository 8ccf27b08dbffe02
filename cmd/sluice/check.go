package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/admin"
	"sluice/gateway/hooks"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/forms"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// checkCommand is sluice check.
type checkCommand struct {
	Rules   bool           `help:"Print the table of request rules instead."`
	Connect bool           `help:"Try whether Redis, the service, issuers, the mirror and the names of hooks can be reached instead, a line each with the time it took. Costs nothing."`
	Through throughCommand `embed:""`
}

// Run prints the settings and teams in effect and the warnings, and returns faults.
func (command checkCommand) Run(ctx context.Context, p program) error {
	if command.Through.URL != "" {
		return command.Through.run(ctx, p)
	}
	if command.Rules {
		s, err := settingsFor(p.environ, "HEADER_PREFIX")
		if err != nil {
			return err
		}
		return policy.WriteRules(p.stdout, s.HeaderPrefix)
	}
	c, err := loadConfiguration(p.environ)
	if command.Connect && err == nil {
		joined, _ := c.withDirectory(ctx, io.Discard)
		for _, warning := range c.warnings {
			if strings.HasPrefix(warning, settings.Prefix+"UPSTREAM_PROXY: ") {
				_, _ = fmt.Fprintln(p.stdout, "warning: "+admin.Printable(warning))
			}
		}
		return c.connect(ctx, p, joined)
	}
	var fs settings.Faults
	_ = errors.As(err, &fs)
	var text strings.Builder
	writeSettings(&text, c.Settings, fs)
	switch {
	case err == nil:
		for _, line := range c.Upstream.Lines(c.UpstreamURL) {
			text.WriteString("# " + line + "\n")
		}
		c.warnings = append(c.warnings, append(c.teams.Prices.BeyondRules(c.EditImageModels, c.SyncImageModels, c.Rules),
			c.teams.Prices.Hidden()...)...)
		c.warnings = append(c.warnings, c.teams.Prices.Awaited(price.DayOf(time.Now()))...)
		joined, whole := c.withDirectory(ctx, &text)
		c.warnPartial(joined)
		writeTeams(&text, joined)
		err = c.fit(joined, whole)
	case c.teams != nil:
		writeTeams(&text, c.teams)
	}
	for _, warning := range c.warnings {
		text.WriteString("# warning: " + admin.Printable(strings.ReplaceAll(warning, "\n", "; ")) + "\n")
	}
	if _, failed := io.WriteString(p.stdout, text.String()); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// warnPartial warns of models that a quota of spend refuses below a native path, because a request there may make tokens or images, and
// only one of them has a price.
func (c *configuration) warnPartial(joined *teams.File) {
	native := slices.ContainsFunc(c.ForwardPaths, func(p forms.Path) bool { return p.Form == forms.Native })
	spends := joined.House.Spends() || slices.ContainsFunc(joined.List, func(t *teams.Team) bool {
		return t.Spends() || slices.ContainsFunc(t.CountedKeys(), func(k *teams.Key) bool { return k.Spends() })
	}) || slices.ContainsFunc(c.Upstream.File.List, func(a *teams.Account) bool { return a.Quotas != nil && a.Quotas.Spends() })
	if !native || !spends {
		return
	}
	for _, lack := range joined.Prices.Partial(price.DayOf(time.Now())) {
		c.warnings = append(c.warnings, settings.Prefix+"FORWARD_PATHS: "+lack+
			": a quota of spend refuses it below a native path, where a request may make either; what is free has a price of 0")
	}
}

// fit checks that amounts can be counted in the teams file's currency, and that accounts and teams fit together, also those of the
// directory. If the directory is unreadable, accounts may name teams that are not known.
func (c *configuration) fit(joined *teams.File, whole bool) error {
	misfits, unknown := account.Fit(c.Upstream.File, joined)
	fs := append(c.counted, settings.DocumentFaults(settings.Prefix+"TEAMS_FILE", misfits)...)
	if whole {
		fs = append(fs, settings.DocumentFaults(settings.Prefix+"ACCOUNTS_FILE", unknown)...)
	}
	if joined != c.teams { // the file's own hooks were checked before, so these faults are the directory's
		fs = append(fs, settings.DocumentFaults("directory", hooks.Faults(joined, posting(c.Settings)))...)
	}
	return fs.Err()
}

// withDirectory joins the directory to the teams file and warns of ignored parts. An unreadable directory is no fault of the
// configuration; whole is false then.
func (c *configuration) withDirectory(ctx context.Context, w io.Writer) (joined *teams.File, whole bool) {
	d, err := c.readDirectory(ctx)
	joined = c.teams
	var ignored strictyaml.Faults
	if err == nil && d.Version > 0 {
		joined, ignored, err = c.teams.Join(d.Text(), c.Upstream.Digests()...)
		_, _ = fmt.Fprintf(w, "# directory: version %d, %d %s\n", d.Version, len(d.Teams), unit.Noun(int64(len(d.Teams)), "teams"))
	}
	if err != nil {
		c.warnings = append(c.warnings, "the directory cannot be read: "+settings.Brief(err).Error())
		return c.teams, false
	}
	for _, fault := range ignored {
		c.warnings = append(c.warnings, fault.String())
	}
	c.warnings = append(append(c.warnings, shutOut(c.Settings, joined, teams.OwnerDirectory)...), joined.BeyondHouse(teams.OwnerDirectory)...)
	for _, text := range account.Warnings(c.Upstream.File, joined) { // warn has added those of the teams file
		if text = settings.Prefix + "ACCOUNTS_FILE: " + text; !slices.Contains(c.warnings, text) {
			c.warnings = append(c.warnings, text)
		}
	}
	return joined, true
}

// readDirectory reads the directory once, from Redis within a second.
func (c *configuration) readDirectory(ctx context.Context) (teams.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, directoryCall)
	defer cancel()
	var client *redisclient.Client
	if c.RedisURL != "" {
		s := c.Settings
		s.RedisTimeout = directoryCall
		client = openRedis(s, slog.New(slog.DiscardHandler), nil, 0, nil)
		defer func() { _ = client.Close() }()
	}
	s, err := directoryStore(c.Settings, client).Read(ctx)
	if err != nil {
		return teams.Document{}, err
	}
	if client != nil {
		if err := redisstore.CheckMoney(ctx, client, c.teams.Money); err != nil {
			c.counted = settings.Faults{{Name: settings.Prefix + "TEAMS_FILE", Text: err.Error()}}
		}
		c.warnings = append(c.warnings, admin.Unpriced(ctx, redisstore.New(client), c.teams, time.Now())...)
	}
	return s.Open()
}

// writeSettings writes an environment file of all settings in effect. It leaves out faulty values: they may be secrets in the wrong
// variable.
func writeSettings(w io.Writer, s settings.Settings, fs settings.Faults) {
	values := s.Values()
	for _, name := range settings.Names {
		if fs.Has(name) {
			_, _ = fmt.Fprintf(w, "# faulty: %s\n", name)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s=%s\n", name, values[name])
	}
}

// writeTeams writes one line for each team.
func writeTeams(w io.Writer, file *teams.File) {
	for _, team := range file.List {
		_, _ = fmt.Fprintf(w, "# team %s: %d %s, models %s, endpoints %s", team.ID, len(team.Keys), unit.Noun(int64(len(team.Keys)), "keys"),
			files.Words(team.Models), files.Words(team.Uses()))
		if team.Owner == teams.OwnerDirectory {
			_, _ = io.WriteString(w, ", of the directory")
		}
		if team.Disabled {
			_, _ = io.WriteString(w, ", disabled")
		}
		_, _ = io.WriteString(w, "\n")
	}
}

func wordsOf[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}

// healthTimeout is shorter than the usual period of a container's healthcheck.
const healthTimeout = 3 * time.Second

// healthCommand is sluice health.
type healthCommand struct{}

// Run asks the admin listener of the environment's settings. It ignores faults in others: the process may have other settings.
func (healthCommand) Run(ctx context.Context, p program) error {
	s, err := settingsFor(p.environ, "ADMIN_LISTEN")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if _, err := askAdmin(ctx, "http://"+dialable(s.AdminListen)+"/healthz"); err != nil {
		return fmt.Errorf("not healthy: %w", err)
	}
	return nil
}

// dialable turns a listen address into one to dial. For an unspecified host that is loopback.
func dialable(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
