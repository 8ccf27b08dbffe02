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
	RequestID  string       `json:"request_id"`
	Team       string       `json:"team"`
	Models     []string     `json:"models"`
	Endpoints  []string     `json:"endpoints"`
	Limits     []usageLimit `json:"limits"`
	Concurrent usageCount   `json:"concurrent"`
	OpenTasks  usageTasks   `json:"open_tasks"`
	Tags       []usageTag   `json:"tags,omitzero"` // of the tag's values, the largest used part first; absent unless the query has tags
	// Ledger is the team's use by day, model, endpoint and unit; absent unless the query names days.
	Ledger []limit.Entry `json:"ledger,omitzero"`
}

// usageTag is a quota of one value of the team's tag. It is empty for requests without the tag.
type usageTag struct {
	Tag string `json:"tag"`
	usageLimit
}

// usageLimit is one limit. Amounts are units, spend is in the currency.
type usageLimit struct {
	Unit   teams.Unit  `json:"unit"`
	Period string      `json:"period"` // a rate's per as the teams file writes it, or day or month
	Limit  json.Number `json:"limit"`
	Used   json.Number `json:"used"`
	Held   json.Number `json:"held"`
	Left   json.Number `json:"left"`
	Reset  string      `json:"reset"` // RFC 3339 in UTC: when a bucket is full, or the period ends
	limit.Raises
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
	tags, ledger, done, err := u.past(r.Context(), s.team, r.URL.RawQuery, report.At)
	defer done()
	if err != nil {
		return err
	}
	body := usageBody{
		RequestID: s.ID, Team: s.Team, Models: allOr(s.team.Models), Endpoints: endpointsOf(s.team), Limits: make([]usageLimit, len(report.Limits)),
		Concurrent: countOf(u.loads.Most(s.team.Concurrent), u.loads.Of(s.Team).Requests.Load()),
		OpenTasks:  usageTasks{countOf(int64(s.team.OpenTasks), report.Tasks), u.openTasks(r.Context(), s.Team)},
		Tags:       tags,
		Ledger:     ledger,
	}
	for i := range report.Limits {
		body.Limits[i] = readLimit(&report.Limits[i], report.At)
		body.Limits[i].Raises = limit.RaisesOf(s.team, report.Limits[i].Unit, report.Limits[i].Period)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return answer{status: http.StatusOK, header: jsonHeader(), body: text}.write(w)
}

func readLimit(s *limit.Standing, at time.Time) usageLimit {
	number := func(n int64) json.Number { return json.Number(limit.Written(s.Unit, n)) }
	return usageLimit{
		Unit: s.Unit, Period: s.Per, Limit: number(s.Limit), Used: number(s.Used), Held: number(s.Held), Left: number(s.Left),
		Reset: at.Add(s.Reset).UTC().Format(time.RFC3339),
	}
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

// past reads what needs a ledger: the quotas of values of the team's tag if the query has tags, and the rows of the days that it
// names. Parts that the query does not ask for are nil. This process reads one ledger at a time, and a team may have one such
// report at a time, until done is called: a report costs the team nothing, but it costs time and memory.
func (u *usage) past(ctx context.Context, team *teams.Team, query string, now time.Time) (tags []usageTag, entries []limit.Entry, done func(), err error) {
	done = func() {}
	days, err := limit.AskedDays(query, now)
	if err != nil {
		return nil, nil, done, refuse(refuseRules).say("%s", err.Error())
	}
	if asks := asksTags(query); asks || days != nil {
		done, err = u.inTurn(ctx, team.ID, func(ctx context.Context) (err error) {
			if asks {
				tags, err = u.tags(ctx, team, now)
			}
			if err == nil && days != nil {
				entries, err = u.ledger(ctx, team.ID, days)
			}
			return err
		})
	}
	switch {
	case errors.Is(err, limit.ErrRows):
		err = refuse(refuseRules).say("days: given %d with more than %d rows of a day, a model and an endpoint, allowed %[2]d: ask for fewer days", len(days), ledgerRows)
	case err != nil:
		err = refuse(refuseState).say("The ledger of team %s cannot be read at the moment; send the request again.", team.ID).because(err).retry(time.Second)
	}
	return tags, entries, done, err
}

// asksTags reports whether a query has the parameter tags.
func asksTags(query string) bool {
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); name == "tags" {
			return true
		}
	}
	return false
}

// tags reads the standings of the values of the team's tag.
func (u *usage) tags(ctx context.Context, team *teams.Team, at time.Time) ([]usageTag, error) {
	list := []usageTag{}
	if len(team.TagQuotas) == 0 {
		return list, nil
	}
	standings, err := u.accounts.LookInside(ctx, team, limit.ScopeTag, at)
	values := map[string]bool{}
	for i := range standings {
		if values[standings[i].Of] = true; len(values) > tagsShown {
			break
		}
		list = append(list, usageTag{standings[i].Of, readLimit(&standings[i], at)})
	}
	return list, err
}

func (u *usage) ledger(ctx context.Context, team string, days []int) ([]limit.Entry, error) {
	rows, err := u.accounts.Rows(ctx, limit.Query{Teams: []string{team}, Days: days, Most: ledgerRows})
	entries := []limit.Entry{}
	for i := range rows {
		entries = append(entries, rows[i].Entries()...)
	}
	return entries, err
}

// inTurn waits until the team has no other report and this process reads no other ledger, then reads one.
func (u *usage) inTurn(ctx context.Context, team string, read func(context.Context) error) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	done, err = turn(waiting, u.loads.Of(team).Reading)
	if err != nil {
		return done, err
	}
	ended, err := turn(waiting, u.reading)
	if err != nil {
		return done, err
	}
	defer ended()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), ledgerPatience)
	defer cancel()
	return done, read(ctx)
}

// turn waits for room. The caller MUST call done, which makes room again.
func turn(ctx context.Context, room chan struct{}) (done func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}
