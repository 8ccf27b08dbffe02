package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// usagePath is where a team asks how it stands.
const usagePath = "/sluice/v1/usage"

// usageBody is the answer to usagePath.
type usageBody struct {
	RequestID  string       `json:"request_id"`
	Team       string       `json:"team"`
	Models     []string     `json:"models"`
	Endpoints  []string     `json:"endpoints"`
	Limits     []usageLimit `json:"limits"`
	Concurrent usageCount   `json:"concurrent"`
	OpenTasks  usageTasks   `json:"open_tasks"`
	// Ledger is what the team used, by day, model, endpoint and unit; absent unless the query asks for days.
	Ledger []limit.Entry `json:"ledger,omitzero"`
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
}

// usageCount is what is under way, and how much may be; a limit of nil is any number.
type usageCount struct {
	Limit *int64 `json:"limit"`
	Used  int64  `json:"used"`
}

// countOf is a count whose limit, as the team has it, is any number where it is 0.
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

// usage tells a team how it stands, and what it used where the query asks for days. It costs nothing.
func (g *Gateway) usage(w *reply, r *http.Request, c *call) error {
	report, err := g.deps.Accounts.Look(r.Context(), c.team)
	if err != nil {
		return refuse(refuseState).say("What team %s has used is not known at the moment.", c.Team).because(err).retry(time.Second)
	}
	ledger, done, err := g.ledger(r.Context(), c, r.URL.RawQuery, report.At)
	defer done()
	if err != nil {
		return err
	}
	body := usageBody{
		RequestID: c.ID, Team: c.Team, Models: allOr(c.team.Models), Endpoints: allOr(c.team.Endpoints), Limits: []usageLimit{},
		Concurrent: countOf(g.places(c.team), g.slots.of(c.Team).used.Load()),
		OpenTasks:  usageTasks{countOf(int64(c.team.OpenTasks), report.Tasks), g.openTasks(r.Context(), c.Team)},
		Ledger:     ledger,
	}
	for i := range report.Limits {
		body.Limits = append(body.Limits, readLimit(&report.Limits[i], report.At))
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
func (g *Gateway) openTasks(ctx context.Context, team string) []usageTask {
	open := []usageTask{}
	list, _, _ := g.tasks.List(ctx, team, cache.Filter{Size: 100, Open: true}) // what cannot be told is left out
	for i := range list {
		if t := &list[i]; !t.Answer.Status.Final() {
			open = append(open, usageTask{t.Task, t.Model, t.Answer.Status})
		}
	}
	return open
}

// allOr lists what is allowed; nothing listed is everything.
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
