// Package usage reports to a team how it stands: its limits, its open tasks, and its ledger.
//
// It reads what the accounts know, and changes nothing. It knows no HTTP. It promises that a process reads one ledger at a time, and a
// team one, because a report costs the team nothing.
package usage

import (
	"context"
	"encoding/json"
	"errors"
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
	// of the tag's values, the largest used part first; absent unless the query has tags
	Tags []usageTag `json:"tags,omitzero"`
	Keys []usageKey `json:"keys,omitzero"` // of the key that asks, if it has limits; of all keys of the team if the query has keys
	// Ledger is the team's use by day, model, endpoint and unit, or with by by day, tag or key, and unit, or with kinds by kind; absent unless
	// the query names days.
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

// countOf returns a count with a team's limit; 0: no limit.
func countOf(used, limit int64) usageCount {
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

// Balances keep what teams may still spend, as those of package stores do.
type Balances interface {
	// Look MUST report a team's standing and change nothing.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	// LookInside MUST report the standing of each part of a team at that time.
	LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error)
	// Rows MUST return what the query's teams used, or [limit.ErrRows] if there are more rows than it allows.
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}

// Reports makes the reports of teams. Create it with [New]; it is safe for concurrent use.
type Reports struct {
	balances Balances
	tasks    *tasks.Tasks
	loads    *loads.Loads
	reading  chan struct{} // has room for the one request that reads a ledger
}

// New makes reports from what these parts know.
func New(a Balances, l *loads.Loads, t *tasks.Tasks) *Reports {
	return &Reports{balances: a, loads: l, tasks: t, reading: make(chan struct{}, 1)}
}

// Asker is who asks for a report.
type Asker struct {
	ID    string // of the request
	Team  *teams.Team
	Key   string // the id of the key, as in [limit.Hold]
	Query string // the parameters
}

// ErrQuery is the error of a query that cannot be answered. Its text is for the client.
type ErrQuery struct{ Text string }

func (e *ErrQuery) Error() string { return e.Text }

// ErrLedger is the error if what needs a ledger cannot be read at the moment.
var ErrLedger = errors.New("the ledger cannot be read")

// Report is the team's limits and tasks, and its ledger if the query names days. It costs the team nothing. The caller MUST call done
// when the report was sent.
func (u *Reports) Report(ctx context.Context, a *Asker) (text []byte, done func(), err error) {
	report, err := u.balances.Look(ctx, a.Team)
	if err != nil {
		return nil, func() {}, err
	}
	past, done, err := u.past(ctx, a, report.At)
	if err != nil {
		return nil, done, err
	}
	body := usageBody{
		RequestID: a.ID, Team: a.Team.ID, Models: allOr(a.Team.Models), Endpoints: endpointsOf(a.Team),
		Limits:     make([]limit.StandingEntry, len(report.Limits)),
		Concurrent: countOf(u.loads.InFlight(a.Team)),
		OpenTasks:  usageTasks{countOf(report.Tasks, int64(a.Team.OpenTasks)), u.openTasks(ctx, a.Team.ID)},
		Tags:       past.tags,
		Keys:       past.keys,
		Ledger:     past.ledger,
	}
	for i := range report.Limits {
		body.Limits[i] = report.Limits[i].Entry(a.Team.Money, report.At)
		body.Limits[i].Raises = limit.RaisesOf(a.Team, report.Limits[i].Unit, report.Limits[i].Period)
	}
	text, err = json.Marshal(body)
	return text, done, err
}

// openTasks lists the team's newest tasks that have not ended.
func (u *Reports) openTasks(ctx context.Context, team string) []usageTask {
	open := []usageTask{}
	page, _ := u.tasks.List(ctx, team, cache.Filter{Size: 100, Open: true}) // tasks that cannot be read are left out
	for i := range page.Tasks {
		if t := &page.Tasks[i]; !t.Answer.Status.Final() {
			open = append(open, usageTask{t.Task, t.Model, t.Answer.Status})
		}
	}
	return open
}

// endpointsOf lists the endpoints that a team may use. If the teams file lists none, the team may use all except one, so they are
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
