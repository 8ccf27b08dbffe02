// Package quotas shows in the metrics how far quotas are used: those of each team, and those of the house, whose alerts it reports. It
// looks at the accounts and changes nothing there. Package limit writes the events of quotas with the charges that pass a threshold; this
// package writes the events of those that no charge passed.
package quotas

import (
	"context"
	"log/slog"
	"sync/atomic"

	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// rounds is how many rounds it takes to look at every team's quotas once. A look costs a Redis call.
const rounds = 10

// Balances know how far quotas are used. Package limit has two forms, in memory and in Redis.
type Balances interface {
	// Look MUST report a team's standing and change nothing.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
}

// Deps are what a Watch uses. All are required unless they say otherwise.
type Deps struct {
	Teams    func() *teams.File // in force
	Balances Balances
	Metrics  *telemetry.Metrics // nil: no metrics
	Logger   *slog.Logger
	Outbox   Outbox       // takes events; nil: nothing is reported
	To       event.Routes // where events are delivered; nil: nowhere
	Known    func() bool  // whether it is known which teams have streams open
}

// Watch looks at quotas, some in each round. One goroutine calls Round, any may call House.
type Watch struct {
	Deps
	shown  map[string]bool // teams whose quotas the metrics show
	next   int
	house  atomic.Pointer[limit.Report] // as last seen; nil: not yet, or there is none
	seenOf *teams.File                  // at the last look at the house
	round  int

	alerts  limit.Alerts
	reached map[string]seen // by owner and name
}

// New returns a Watch that has seen nothing.
func New(deps Deps) *Watch {
	return &Watch{Deps: deps, shown: make(map[string]bool), alerts: AlertsOf(deps.Teams, deps.To, deps.Known)}
}

// Round looks at the next few teams, and at the house when its turn has come.
func (w *Watch) Round(ctx context.Context) {
	file := w.Teams()
	w.forget(file)
	list := file.List
	for range (len(list) + rounds - 1) / rounds {
		team := list[w.next%len(list)]
		w.next++
		if len(team.Quotas) > 0 {
			w.look(ctx, team)
		}
	}
	w.houseRound(ctx, file)
}

func (w *Watch) look(ctx context.Context, team *teams.Team) {
	report, err := w.Balances.Look(ctx, team)
	if err != nil {
		return // the metrics keep the last value
	}
	w.announce(ctx, team, &report)
	w.Metrics.Quotas(team.ID, usesOf(&report, team.Shadow))
	w.shown[team.ID] = true
}

// forget removes teams that no longer have quotas from the metrics.
func (w *Watch) forget(file *teams.File) {
	for id := range w.shown {
		if team := file.Team(id); team == nil || len(team.Quotas) == 0 {
			w.Metrics.Quotas(id, nil)
			delete(w.shown, id)
		}
	}
}

// usesOf is how far each quota of a report is used. shadow means that none refuses anything.
func usesOf(report *limit.Report, shadow bool) (uses []telemetry.QuotaUse) {
	for i := range report.Limits {
		if s := &report.Limits[i]; s.Period != "" && s.Limit > 0 {
			uses = append(uses, telemetry.QuotaUse{
				Unit: string(s.Unit), Period: string(s.Period), Ratio: float64(s.Used+s.Held) / float64(s.Limit),
				Shadow: shadow,
			})
		}
	}
	return uses
}
