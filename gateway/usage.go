package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/cache"
	"sluice/gateway/loads"
	"sluice/gateway/tasks"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// usageBody is the answer.
type usageBody struct {
	RequestID  string                `json:"request_id"`
	Team       string                `json:"team"`
	Models     []string              `json:"models"`
	Endpoints  []string              `json:"endpoints"`
	Limits     []limit.StandingEntry `json:"limits"`
	Concurrent usageCount            `json:"concurrent"`
	OpenTasks  usageTasks            `json:"open_tasks"`
	Tags       []usageTag            `json:"tags,omitzero"` // of the tag's values, the largest used part first; absent unless the query has tags
	Keys       []usageKey            `json:"keys,omitzero"` // of the key that asks, if it has limits; of all keys of the team if the query has keys
	// Ledger is the team's use by day, model, endpoint and unit, or with by by day, tag or key, and unit, or with kinds by kind; absent unless the query names days.
	Ledger []limit.Entry `json:"ledger,omitzero"`
}

// usageTag is a quota of one value of the team's tag. It is empty for requests without the tag.
type usageTag struct {
	Tag string `json:"tag"`
	limit.StandingEntry
}

// usageKey is a limit of one key.
type usageKey struct {
	Key string `json:"key"`
	limit.StandingEntry
}

// usageCount is the number under way and its limit; nil: no limit.
type usageCount struct {
	Limit *int64 `json:"limit"`
	Used  int64  `json:"used"`
}

// countOf is a count with a team's limit; 0: no limit.
func countOf(limit, used int64) usageCount {
	if limit == 0 {
		return usageCount{Used: used}
	}
	return usageCount{&limit, used}
}

type usageTasks struct {
	usageCount
	Tasks []usageTask `json:"tasks"`
}

type usageTask struct {
	Task   string       `json:"task_id"`
	Model  string       `json:"model"`
	Status cache.Status `json:"status"`
}

// usage reports a team's limits, tasks and ledger.
type usage struct {
	accounts Accounts
	tasks    *tasks.Tasks
	loads    *loads.Loads
	reading  chan struct{} // has room for the one request that reads a ledger
}

// usage answers with the team's limits and tasks, and with its ledger if the query names days. It costs the team nothing.
func (u *usage) usage(w *reply, r *http.Request, s *requestState) error {
	report, err := u.accounts.Look(r.Context(), s.team)
	if err != nil {
		return refuse(refuseState).say("The usage of team %s cannot be read at the moment; send the request again.", s.Team).because(err).retry(time.Second)
	}
	past, done, err := u.past(r.Context(), s, r.URL.RawQuery, report.At)
	defer done()
	if err != nil {
		return err
	}
	body := usageBody{
		RequestID: s.ID, Team: s.Team, Models: allOr(s.team.Models), Endpoints: endpointsOf(s.team), Limits: make([]limit.StandingEntry, len(report.Limits)),
		Concurrent: countOf(u.loads.Most(s.team.Concurrent), u.loads.Of(s.Team).Requests.Load()),
		OpenTasks:  usageTasks{countOf(int64(s.team.OpenTasks), report.Tasks), u.openTasks(r.Context(), s.Team)},
		Tags:       past.tags,
		Keys:       past.keys,
		Ledger:     past.ledger,
	}
	for i := range report.Limits {
		body.Limits[i] = report.Limits[i].Entry(s.team.Money, report.At)
		body.Limits[i].Raises = limit.RaisesOf(s.team, report.Limits[i].Unit, report.Limits[i].Period)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return answer{status: http.StatusOK, header: jsonHeader(), body: text}.write(w)
}

// openTasks lists the team's newest tasks that have not ended.
func (u *usage) openTasks(ctx context.Context, team string) []usageTask {
	open := []usageTask{}
	page, _ := u.tasks.List(ctx, team, cache.Filter{Size: 100, Open: true}) // if the tasks are not known, they are left out
	for i := range page.Tasks {
		if t := &page.Tasks[i]; !t.Answer.Status.Final() {
			open = append(open, usageTask{t.Task, t.Model, t.Answer.Status})
		}
	}
	return open
}

// endpointsOf lists the endpoints that a team may use. If the teams file lists none, the team may use all but one, so they are
// listed.
func endpointsOf(t *teams.Team) []string {
	uses := t.Uses()
	if len(uses) == len(policy.Endpoints) {
		uses = nil
	}
	return allOr(uses)
}

// allOr lists what is allowed; nil allows everything.
func allOr[T ~string](list []T) []string {
	if list == nil {
		return []string{"*"}
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = string(v)
	}
	return words
}

const (
	// tagsShown is how many values of its tag a team sees. A day may have a thousand.
	tagsShown = 100
	// ledgerPatience bounds the wait for the turn to read a ledger, and then the reading.
	ledgerPatience = 2 * time.Second
	// ledgerRows is how many rows, one for each day, model and endpoint, a report may have. A single day has fewer.
	ledgerRows = 5000
)

// pastUse is what needs a ledger. Parts that the query does not ask for are nil.
type pastUse struct {
	tags   []usageTag
	keys   []usageKey
	ledger []limit.Entry
}

// past reads what needs a ledger: the quotas of values of the team's tag if the query has tags, the limits of its keys, and the rows of
// the days that it names. This process reads one ledger at a time, and a team may have one such report at a time, until done is called:
// a report costs the team nothing, but it costs time and memory.
func (u *usage) past(ctx context.Context, s *requestState, query string, now time.Time) (p pastUse, done func(), err error) {
	done = func() {}
	days, err := limit.AskedDays(query, now)
	if err != nil {
		return p, done, refuse(refuseRules).say("%s", err.Error())
	}
	word, _ := asks(query, "by")
	by, known := limit.LedgerBy(word)
	if !known {
		return p, done, refuse(refuseRules).say("by: given %s, allowed tag, key or account", policy.Brief(word))
	}
	_, tags := asks(query, "tags")
	_, keys := asks(query, "keys")
	_, kinds := asks(query, "kinds")
	if own := s.team.Key(s.holder) != nil; tags || keys || own || days != nil {
		done, err = u.inTurn(ctx, s.Team, func(ctx context.Context) (err error) {
			if tags {
				p.tags, err = u.tags(ctx, s.team, now)
			}
			if err == nil && (keys || own) {
				p.keys, err = u.keys(ctx, s, keys, now)
			}
			if err == nil && days != nil {
				p.ledger, err = u.ledger(ctx, s.team, by, days, kinds)
			}
			return err
		})
	}
	switch {
	case errors.Is(err, limit.ErrRows):
		err = refuse(refuseRules).say("days: given %d with more than %d rows of a day, a model and an endpoint, allowed %[2]d: ask for fewer days", len(days), ledgerRows)
	case err != nil:
		err = refuse(refuseState).say("The ledger of team %s cannot be read at the moment; send the request again.", s.Team).because(err).retry(time.Second)
	}
	return p, done, err
}

// asks returns the value of a parameter of a query, and reports whether it has that. Malformed parts are passed over.
func asks(query, name string) (value string, ok bool) {
	for part := range strings.SplitSeq(query, "&") {
		if of, value, _ := strings.Cut(part, "="); of == name {
			return value, true
		}
	}
	return "", false
}

// tags reads the standings of the values of the team's tag.
func (u *usage) tags(ctx context.Context, team *teams.Team, at time.Time) (list []usageTag, err error) {
	list = []usageTag{}
	if len(team.TagQuotas) > 0 {
		err = u.inside(ctx, team, limit.ScopeTag, at, func(s *limit.Standing) { list = append(list, usageTag{s.Of, s.Entry(team.Money, at)}) })
	}
	return list, err
}

// keys reads the standings of the team's keys, or only of the one that asks.
func (u *usage) keys(ctx context.Context, r *requestState, all bool, at time.Time) (list []usageKey, err error) {
	list = []usageKey{}
	err = u.inside(ctx, r.team, limit.ScopeKey, at, func(s *limit.Standing) {
		if all || s.Of == r.holder {
			list = append(list, usageKey{s.Of, s.Entry(r.team.Money, at)})
		}
	})
	return list, err
}

// inside calls take with the standings of the first parts of a team.
func (u *usage) inside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time, take func(*limit.Standing)) error {
	standings, err := u.accounts.LookInside(ctx, team, k, at)
	names := map[string]bool{}
	for i := range standings {
		if names[standings[i].Of] = true; k == limit.ScopeTag && len(names) > tagsShown {
			break
		}
		take(&standings[i])
	}
	return err
}

func (u *usage) ledger(ctx context.Context, team *teams.Team, by limit.ScopeKind, days []int, kinds bool) ([]limit.Entry, error) {
	rows, err := u.accounts.Rows(ctx, limit.Query{Teams: []string{team.ID}, Days: days, By: by, Most: ledgerRows})
	entries := []limit.Entry{}
	for i := range rows {
		entries = append(entries, rows[i].Entries(team.Money, kinds)...)
	}
	return entries, err
}

// inTurn waits until the team has no other report and this process reads no other ledger, then reads one.
func (u *usage) inTurn(ctx context.Context, team string, read func(context.Context) error) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	done, err = takeRoom(waiting, u.loads.Of(team).Reading)
	if err != nil {
		return done, err
	}
	ended, err := takeRoom(waiting, u.reading)
	if err != nil {
		return done, err
	}
	defer ended()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), ledgerPatience)
	defer cancel()
	return done, read(ctx)
}

// takeRoom waits for room. The caller MUST call done, which makes room again.
func takeRoom(ctx context.Context, room chan struct{}) (done func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}
