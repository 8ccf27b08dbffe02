package cache

import "sync/atomic"

// Tally counts what this process did for a task since it last told the others. All copies of a claim share one. A nil
// Tally counts nothing.
type Tally struct{ served, sent, private atomic.Int64 }

// Serve counts a poll that a client was answered.
func (t *Tally) Serve() {
	if t != nil {
		t.served.Add(1)
	}
}

// Send counts a query that upstream was sent.
func (t *Tally) Send() {
	if t != nil {
		t.sent.Add(1)
	}
}

// SendPrivately counts a query whose answer only the client can read for whom it was sent.
func (t *Tally) SendPrivately() {
	t.Send()
	if t != nil {
		t.private.Add(1)
	}
}

// Private tells how many such queries were sent since an answer was heard.
func (t *Tally) Private() int64 {
	if t == nil {
		return 0
	}
	return t.private.Load()
}

// take returns what was counted and begins anew; give takes it back where it could not be told.
func (t *Tally) take() (served, sent int64) {
	if t == nil {
		return 0, 0
	}
	t.private.Store(0)
	return t.served.Swap(0), t.sent.Swap(0)
}

func (t *Tally) give(served, sent int64) {
	if t != nil {
		t.served.Add(served)
		t.sent.Add(sent)
	}
}

// Polls tells how many polls of the task clients were answered, and how many queries upstream was sent: what all
// processes have told, and what this one has not told yet.
func (c *Claim) Polls() (served, sent int64) {
	served, sent = c.Served, c.Sent
	if c.Tally != nil {
		served, sent = served+c.Tally.served.Load(), sent+c.Tally.sent.Load()
	}
	return served, sent
}
