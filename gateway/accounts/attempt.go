package accounts

import (
	"log/slog"
	"time"

	"sluice/policy/account"
	"sluice/policy/teams"
)

// Attempt is a request's use of an account: of one that was chosen for new work, or of the one that made a task. The zero Attempt uses
// none.
type Attempt struct {
	*Account

	roster *Roster
	spec   *teams.Account // as the reading of the file has it from which it was chosen; nil: there is no accounts file, or it was not chosen
	model  string
	began  time.Time
	open   bool      // it is counted with the account
	probes bool      // others wait for what becomes of it
	asked  time.Time // when a request about a task of the account began; zero: it is new work, or has ended
}

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
	t.worked.Store(t.began.UnixNano())
	t.note(t.model, t.began, t.roster.config.Now(), account.Verdict{Outcome: account.Worked})
}

// Drop ends an attempt that was not made. It does nothing if the attempt has ended.
func (t *Attempt) Drop() {
	if t.close() && t.ill.Load() {
		t.roster.change(t.Account, t.model, t.roster.config.Now(), t.forget)
	}
}

// NoRoom ends an attempt that was not made because the account has no room for it, or because its room is unknown. Unlike Drop it does not
// call Config.Back: a request that Back woke would probe and find no room, again and again.
func (t *Attempt) NoRoom() {
	if t.close() && t.ill.Load() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forget()
	}
}

// forget forgets that the account is probed by this attempt. Call it with the account's lock.
func (t *Attempt) forget() { t.health.Drop(t.model, t.began) }

// close gives the account's count back, once.
func (t *Attempt) close() (was bool) {
	if was = t.open; was {
		t.open = false
		t.inFlight.Add(-1)
	}
	return was
}

func (t *Attempt) end(v account.Verdict) {
	t.open = false
	t.inFlight.Add(-1)
	if v.Outcome == account.Worked {
		t.worked.Store(t.began.UnixNano())
	}
	if shows := v.Outcome == account.Throttled || v.Outcome == account.Refused; shows || t.ill.Load() {
		t.note(t.model, t.began, t.roster.config.Now(), v)
	}
}

// note changes what is known of the account, and tells the other replicas and the log that it is throttled.
func (t *Attempt) note(model string, began, now time.Time, v account.Verdict) {
	t.roster.change(t.Account, model, now, func() {
		a := t.Account
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
	})
}

// pause is how long the account is not asked for the attempt's model.
func (t *Attempt) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.health.Pause(t.model).Until.Sub(t.roster.config.Now()), 0)
}

// Shown is the account's id in the log and in spans; empty: there is only one.
func (t *Attempt) Shown() string {
	if t.roster.now.Load().sole == t.Account {
		return ""
	}
	return t.ID
}

// Spec is the account as the file writes it; nil: there is no accounts file.
func (t *Attempt) Spec() *teams.Account { return t.spec }

// FailedOver counts that a request went on with another account, and why.
func (t *Attempt) FailedOver(why account.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failovers == nil {
		t.failovers = map[string]int64{}
	}
	t.failovers[string(why)]++
}
