// Package notices writes the events that belong to no charge: that an account at the service is out or back, that the files or the
// directory are faulty, that a key expires soon, that most of a team's requests are refused.
//
// Every replica looks, and each event is written once over all of them, and again when it happens again: the outbox remembers what was
// announced. It decides nothing about accounts, files, keys or requests.
package notices

import (
	"context"
	"encoding/json"
	"time"

	"sluice/policy/account"
	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

const (
	roundEvery = 5 * time.Second
	// slowEvery is how often keys and refusals are checked, and how often this process's states are compared with what other replicas
	// announced.
	slowEvery = time.Minute
)

// Outbox keeps events. It has two forms, in memory and in Redis.
type Outbox interface {
	// Once MUST report whether a name is new, as [event.Name] says, and if it is, write the draft; nil: there is none.
	Once(ctx context.Context, n event.Name, d *event.Draft) (bool, error)
}

// Fault is what is wrong with a source of the teams or accounts.
type Fault struct {
	Source string // file or directory
	Text   string // without secrets; empty: there is no fault
}

// Config has what a Watch works with. Every field is required.
type Config struct {
	Outbox    Outbox
	To        event.Routes
	Known     func() bool        // [feed.Feed.Known]
	Teams     func() *teams.File // in force, of file and directory
	Standings func() []account.Standing
	Faults    func() []Fault
	// Minutes returns the counts of teams in the minutes of a span, of all replicas.
	Minutes func(ctx context.Context, teams []string, from, to time.Time) ([]recent.Minute, error)
	Now     func() time.Time
}

// Watch checks all of this, a part in each round. One goroutine calls Run or Round.
type Watch struct {
	Config
	turns     map[string]turn  // by owner and name
	announced map[string]int64 // limits of names, by owner and name
	slow      time.Time        // of the last slow look
}

// New builds a Watch that has seen nothing.
func New(config Config) *Watch {
	return &Watch{Config: config, turns: map[string]turn{}, announced: map[string]int64{}}
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(roundEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		w.Round(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Round looks once. What the outbox does not take is tried again in the next round.
func (w *Watch) Round(ctx context.Context) {
	w.accounts(ctx)
	w.faults(ctx)
	if now := w.Now(); now.Sub(w.slow) >= slowEvery || now.Before(w.slow) {
		w.slow = now
		w.keys(ctx)
		w.starved(ctx)
	}
}

// turn is a state that this process has seen, and compares with what was announced.
type turn struct {
	on    bool
	since time.Time
	asked time.Time // when the outbox was asked last; zero: it must be asked
}

// since is when this process first saw a state whose beginning is not known otherwise.
func (w *Watch) since(owner, name string, on bool) time.Time {
	if t, known := w.turns[owner+" "+name]; known && t.on == on {
		return t.since
	}
	return w.Now()
}

// turned announces that a state has been on since a time, or had ended by it, unless that or a later turn was announced.
func (w *Watch) turned(ctx context.Context, name string, on bool, at time.Time, d *event.Draft, owner string) {
	key, now := owner+" "+name, w.Now()
	t, known := w.turns[key]
	if !known || t.on != on {
		t = turn{on: on, since: at}
	}
	if t.asked.IsZero() || now.Sub(t.asked) >= slowEvery {
		if _, err := w.Outbox.Once(ctx, event.Name{Owner: owner, Name: name, Limit: event.TurnAt(on, at), Turn: true}, d); err == nil {
			t.asked = now
		}
	}
	w.turns[key] = t
}

// listeners returns the targets of an event; nil: no hook and no stream wants it, or whether a stream does is not known yet.
func (w *Watch) listeners(owner string, of event.Type) []event.Target {
	to := w.To(owner, of, "")
	if len(to) == 0 && !w.Known() {
		return nil
	}
	return to
}

// draft returns an event for its listeners; nil: it has none.
func (w *Watch) draft(owner string, of event.Type, data any) *event.Draft {
	to := w.listeners(owner, of)
	if to == nil {
		return nil
	}
	text, _ := json.Marshal(data) // texts, numbers and times
	return &event.Draft{Type: of, Team: owner, Data: text, To: to}
}
