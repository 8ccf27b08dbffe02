package cache

import "sync/atomic"

// PollCounts counts the polls and queries of a task in this process since it last wrote them to Redis. All copies of a claim
// share one. A nil PollCounts counts nothing.
type PollCounts struct{ served, sent, encrypted atomic.Int64 }

// Serve counts an answered poll.
func (t *PollCounts) Serve() {
	if t != nil {
		t.served.Add(1)
	}
}

// Send counts a query that was sent to the service.
func (t *PollCounts) Send() {
	if t != nil {
		t.sent.Add(1)
	}
}

// SendEncrypted counts a query with an encrypted answer, which only one client can read.
func (t *PollCounts) SendEncrypted() {
	t.Send()
	if t != nil {
		t.encrypted.Add(1)
	}
}

// Encrypted is how many such queries were sent since an answer was last heard.
func (t *PollCounts) Encrypted() int64 {
	if t == nil {
		return 0
	}
	return t.encrypted.Load()
}

// take returns the counts and resets them; give adds them again if they could not be written.
func (t *PollCounts) take() (served, sent int64) {
	if t == nil {
		return 0, 0
	}
	t.encrypted.Store(0)
	return t.served.Swap(0), t.sent.Swap(0)
}

func (t *PollCounts) give(served, sent int64) {
	if t != nil {
		t.served.Add(served)
		t.sent.Add(sent)
	}
}

// Polls returns how many polls of the task were answered, and how many queries were sent to the service: those of all
// processes as far as written, and those of this one.
func (c *Claim) Polls() (served, sent int64) {
	served, sent = c.Served, c.Sent
	if c.Counts != nil {
		served, sent = served+c.Counts.served.Load(), sent+c.Counts.sent.Load()
	}
	return served, sent
}
