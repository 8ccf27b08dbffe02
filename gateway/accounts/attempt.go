package accounts

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"sluice/policy/account"
	"sluice/policy/teams"
)

// Attempt is a request's use of an account: of one that was chosen for new work, or of the one that made a task. The zero Attempt uses
// none.
type Attempt struct {
	*Account

	roster *Roster
	model  string
	began  time.Time
	open   bool      // it is counted with the account
	probes bool      // others wait for what becomes of it
	asked  time.Time // when a request about a task of the account began; zero: it is new work, or has ended
}

// Choose picks the account for new work, and counts the request with it until [Attempt.End] or [Attempt.Drop], one of which MUST
// follow. Without an Account the choice says why there is none.
func (r *Roster) Choose(want account.Want) (Attempt, account.Choice) {
	roll, now := r.now.Load(), r.config.Now()
	if a := roll.sole; a != nil {
		if len(want.Tried)+len(want.Spent) > 0 {
			return Attempt{}, account.Choice{Refusal: account.Exhausted, Wait: want.Spent[a.ID]}
		}
		a.begin(want.Model, now)
		return Attempt{Account: a, roster: r, model: want.Model, began: now, open: true}, account.Choice{Account: a.way.Load().spec}
	}
	var some [8]account.View // on the stack
	for {
		views := some[:0]
		for _, a := range roll.list {
			views = append(views, a.view(want.Model, now))
		}
		choice := account.Choose(views, want, rand.Float64())
		if choice.Account == nil {
			return Attempt{}, choice
		}
		a := roll.byID[choice.Account.ID]
		if probes := a.begin(want.Model, now); probes || !choice.Probe {
			return Attempt{Account: a, roster: r, model: want.Model, began: now, open: true, probes: probes}, choice
		}
		a.inFlight.Add(-1) // another request has become the probe in between
	}
}

// Serving lists the accounts that may do a piece of work, as the file writes them; a nil one without an accounts file.
func (r *Roster) Serving(want account.Want) []*teams.Account {
	roll, now := r.now.Load(), r.config.Now()
	if roll.sole != nil {
		return []*teams.Account{nil}
	}
	views := make([]account.View, len(roll.list))
	for i, a := range roll.list {
		views[i] = a.view(want.Model, now)
	}
	return account.Serving(views, want)
}

// Several reports whether there may be another account for a request.
func (r *Roster) Several() bool { return len(r.now.Load().list) > 1 }

// Asks is an attempt for a request about a task of the account. It is not counted: nothing was chosen.
func (r *Roster) Asks(a *Account) Attempt {
	return Attempt{Account: a, roster: r, asked: r.config.Now()}
}

// End notes the answer, which is only once of use, and returns what it says about the account. An answer about a task says nothing of the
// rates for new work, and one that the service gives about a task does not show that it does new work.
func (t *Attempt) End(answer account.Answer) account.Verdict {
	v := account.Judge(answer)
	switch {
	case t.open:
		t.end(v)
	case !t.asked.IsZero() && v.Outcome == account.Refused:
		t.note("", t.asked, t.roster.config.Now(), v)
		t.asked = time.Time{}
	}
	return v
}

// Probes reports whether others wait to hear that the account works.
func (t *Attempt) Probes() bool { return t.probes }

// Works notes that the account does the work, before the answer has ended: those who wait for a probe need not wait for its end.
func (t *Attempt) Works() {
	t.probes = false
	t.note(t.model, t.began, t.roster.config.Now(), account.Verdict{Outcome: account.Worked})
}

// Drop ends an attempt that was not made. It does nothing if the attempt has ended.
func (t *Attempt) Drop() {
	if !t.open {
		return
	}
	t.open = false
	t.inFlight.Add(-1)
	if t.ill.Load() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.health.Drop(t.model, t.began)
	}
}

func (t *Attempt) end(v account.Verdict) {
	t.open = false
	t.inFlight.Add(-1)
	if shows := v.Outcome == account.Throttled || v.Outcome == account.Refused; shows || t.ill.Load() {
		t.note(t.model, t.began, t.roster.config.Now(), v)
	}
}

// note changes what is known of the account, and tells the other replicas and the log that it is throttled.
func (t *Attempt) note(model string, began, now time.Time, v account.Verdict) {
	a := t.Account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health.End(model, began, now, v)
	a.ill.Store(true)
	if v.Outcome != account.Throttled {
		return
	}
	pause := a.health.Pause(model)
	t.roster.tell(cooled{a.ID, model, pause})
	if now.Sub(a.warned) >= time.Minute {
		a.warned = now
		t.roster.config.Logger.Warn("the service throttles an account",
			slog.String("account", a.ID), slog.String("model", model), slog.String("why", v.Why), slog.Duration("for", pause.Until.Sub(now)))
	}
}

// Shown is the account's id in the log and in spans; empty: there is only one.
func (t *Attempt) Shown() string {
	if t.roster.now.Load().sole == t.Account {
		return ""
	}
	return t.ID
}

// Spec is the account as the file writes it; nil: there is no accounts file.
func (t *Attempt) Spec() *teams.Account {
	if t.roster.now.Load().sole == t.Account {
		return nil
	}
	return t.way.Load().spec
}

// FailedOver counts that a request went on with another account, and why.
func (t *Attempt) FailedOver(why account.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failovers == nil {
		t.failovers = map[string]int64{}
	}
	t.failovers[string(why)]++
}
