package accounts

import (
	"net/http"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/telemetry/meter"
)

// Trials are the accounts that one request has asked so far, or that had no room for it.
type Trials struct {
	Roll    *Roll
	Longest time.Duration // the longest wait that one of them asks for, or that it is not asked

	tried []string                 // by id
	spent map[string]time.Duration // until they have room
}

// Judged notes what the answer to an attempt says, and how long the account is not asked therefore.
func (t *Trials) Judged(a *Attempt, v account.Verdict) {
	t.tried = append(t.tried, a.ID)
	if v.Outcome == account.Throttled {
		t.Longest = max(t.Longest, v.Wait, a.pause())
	}
}

// Wait is how long a client is told to wait that gets an answer with this verdict as the last: the longest wait of all, if this account did
// no work either; 0: as the answer says.
func (t *Trials) Wait(v account.Verdict) time.Duration {
	if v.Another || v.Outcome == account.Throttled || v.Outcome == account.Refused {
		return t.Longest
	}
	return 0
}

// Next chooses one that was not asked and has room. wait is called with each choice, and returns how long that has no room; 0: it has some,
// and the attempt MUST be made.
func (t *Trials) Next(want account.Want, wait func(*Attempt) time.Duration) (next Attempt, ok bool) {
	for {
		want.Tried, want.Spent = t.tried, t.spent
		next, choice := t.Roll.Choose(want)
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

// ask calls wait, and ends an attempt that is not to be made, also because of a panic.
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

// AnswerOf is what became of an exchange that has ended, with the status and the wait that its answer's header has. An error frame that is
// the first event of a stream counts as its status. Where only the end of the connection ends the answer, it is complete if its text is: it
// may have been cut.
func AnswerOf(x *upstream.Exchange, read *meter.Reading, status int, wait time.Duration) account.Answer {
	a := account.Answer{Sent: x.Reached, Complete: x.Clean || x.Whole && read.Complete, Status: status, Code: read.ErrorCode, RetryAfter: wait}
	if status < http.StatusBadRequest && refusesOnly(read) {
		a.Status = read.ErrorStatus
	}
	return a
}

// MayRefuse reports whether the beginning of a stream may be an error for which another account may be tried, and nothing else. What has no
// data, such as a comment that keeps the connection alive, is no event and decides nothing. open: the last event has not ended.
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
