package accounts

import (
	"log/slog"
	"net/http"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/teams"
	"sluice/telemetry/meter"
)

// Attempt is a request's use of an account: of one that was chosen for new work, or of the one that made a task. The zero Attempt uses
// none.
type Attempt struct {
	*Account

	pool   *Pool
	spec   *teams.Account // the account in the version of the file that it was chosen from; nil: no accounts file, or not chosen
	model  string
	began  time.Time
	open   bool      // it is counted with the account
	probes bool      // others wait for its outcome
	asked  time.Time // when a request about a task of the account began; zero: it is new work, or has ended
}

// Asks returns the attempt of a request about a task of the account. It is not counted with the account.
func (r *Pool) Asks(a *Account) Attempt {
	return Attempt{Account: a, pool: r, asked: r.config.Now()}
}

// End notes the answer, the first time that it is called, and returns what the answer says about the account. An answer about a task says
// nothing about the rates for new work, and does not show that the account does new work.
func (t *Attempt) End(answer account.Answer) account.Verdict {
	v := account.Judge(answer)
	switch {
	case t.open:
		t.end(v)
	case !t.asked.IsZero() && v.Outcome == account.Refused:
		t.note("", t.asked, t.pool.config.Now(), v)
		t.asked = time.Time{}
	}
	return v
}

// Probes reports whether others wait to learn that the account works.
func (t *Attempt) Probes() bool { return t.probes }

// Works notes that the account does the work, before the answer has ended: requests that wait for a probe need not wait for its end.
func (t *Attempt) Works() {
	t.probes = false
	t.worked.Store(t.began.UnixNano())
	t.note(t.model, t.began, t.pool.config.Now(), account.Verdict{Outcome: account.Worked})
}

// Drop ends an attempt that was not made. It does nothing if the attempt has ended.
func (t *Attempt) Drop() {
	if t.close() && t.ill.Load() {
		t.pool.change(t.Account, t.model, t.pool.config.Now(), t.forget)
	}
}

// NoRoom ends an attempt that was not made because the account has no room for it, or because its room is unknown. Unlike Drop it does not
// call Config.Back: a request that Back wakes would probe and find no room, again and again.
func (t *Attempt) NoRoom() {
	if t.close() && t.ill.Load() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forget()
	}
}

// forget forgets that this attempt probes the account. The account's lock is held.
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
		t.note(t.model, t.began, t.pool.config.Now(), v)
	}
}

// note changes what is known of the account. If it is throttled, note also informs the other replicas and the log.
func (t *Attempt) note(model string, began, now time.Time, v account.Verdict) {
	t.pool.change(t.Account, model, now, func() {
		a := t.Account
		a.health.End(model, began, now, v)
		a.ill.Store(true)
		if v.Outcome != account.Throttled {
			return
		}
		pause := a.health.Pause(model)
		t.pool.share(cooled{a.ID, model, pause})
		if now.Sub(a.warned) >= time.Minute {
			a.warned = now
			t.pool.config.Logger.Warn("the service throttles an account",
				slog.String("account", a.ID), slog.String("model", model), slog.String("why", v.Why), slog.Duration("for", pause.Until.Sub(now)))
		}
	})
}

// pause is how long the account is not asked for the attempt's model.
func (t *Attempt) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.health.Pause(t.model).Until.Sub(t.pool.config.Now()), 0)
}

// Shown is the account's id in holds, in the log and in spans; empty: there is only one.
func (t *Attempt) Shown() string {
	if t.pool.now.Load().sole == t.Account {
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

// Trials are the accounts that one request has asked so far, or that had no room for it.
type Trials struct {
	Snapshot *Snapshot
	Longest  time.Duration // the longest wait that one of them asks for, or for which one is not asked

	tried []string                 // by id
	spent map[string]time.Duration // until they have room
}

// Judged notes the verdict on an attempt's answer, and how long the account is not asked because of it.
func (t *Trials) Judged(a *Attempt, v account.Verdict) {
	t.tried = append(t.tried, a.ID)
	if v.Outcome == account.Throttled {
		t.Longest = max(t.Longest, v.Wait, a.pause())
	}
}

// Wait returns the Retry-After of a client whose last answer has this verdict: the longest wait of all accounts, if this one did no work
// either, and not less than its code needs, if it does not say; 0: the answer's own.
func (t *Trials) Wait(v account.Verdict) time.Duration {
	switch {
	case v.Outcome == account.Throttled && v.Wait == 0:
		return max(t.Longest, account.Patience(v.Why))
	case v.Another, v.Outcome == account.Throttled, v.Outcome == account.Refused:
		return t.Longest
	}
	return 0
}

// Next chooses an account that was not asked and has room. It calls wait with each choice, which returns how long that account has no room;
// 0: it has room, and the attempt MUST be made.
func (t *Trials) Next(want account.Want, wait func(*Attempt) time.Duration) (next Attempt, ok bool) {
	for {
		want.Tried, want.Spent = t.tried, t.spent
		next, choice := t.Snapshot.Choose(want)
		if choice.Account == nil {
			return Attempt{}, false
		}
		rest := ask(&next, wait)
		if rest == 0 {
			return next, true
		}
		if t.spent == nil {
			t.spent = map[string]time.Duration{}
		}
		t.spent[next.ID] = rest
	}
}

// ask calls wait, and ends an attempt that will not be made, also after a panic.
func ask(next *Attempt, wait func(*Attempt) time.Duration) time.Duration {
	rest := time.Duration(-1)
	defer func() {
		if rest != 0 {
			next.NoRoom()
		}
	}()
	rest = wait(next)
	return rest
}

// AnswerOf returns the outcome of an exchange that has ended; status and wait are those in its answer's header. An error frame that is the
// first event of a stream counts as its status. An answer that only the end of its connection ends may have been cut: it is complete if its
// content is.
func AnswerOf(x *upstream.Exchange, read *meter.Reading, status int, wait time.Duration) account.Answer {
	a := account.Answer{Sent: x.Reached, Complete: x.Clean || x.Whole && read.Complete, Status: status, Code: read.ErrorCode, RetryAfter: wait}
	if status < http.StatusBadRequest && refusesOnly(read) {
		a.Status = read.ErrorStatus
	}
	return a
}

// MayRefuse reports whether the beginning of a stream may be an error for which another account may be tried, and nothing else. An event
// without data, such as a comment that keeps the connection alive, decides nothing. open: the last event has not ended.
func MayRefuse(read *meter.Reading, open bool) bool {
	switch {
	case read.Opaque:
		return false
	case read.Frames == 0:
		return true
	case !refusesOnly(read):
		return false
	}
	return open || account.Judge(account.Answer{Sent: true, Complete: true, Status: read.ErrorStatus, Code: read.ErrorCode}).Another
}

// refusesOnly reports whether a stream is one error frame so far. A frame before it, even an empty one, shows that the work had begun.
func refusesOnly(read *meter.Reading) bool {
	return read.Failed && !read.Content && read.Frames == 1 && read.TaskID == ""
}
