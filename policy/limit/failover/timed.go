package failover

import (
	"context"
	"sync"
	"time"
)

// timed is a context that ends at a moment, regardless of its parent. It starts a timer only when something waits for its end:
// most admissions of a busy process go in another one's round trip, which only asks for their deadline.
type timed struct {
	context.Context // for its values
	until           time.Time

	mu     sync.Mutex
	waited context.Context // with a timer; nil: nothing has waited yet
	cancel context.CancelFunc
}

// timedFrom returns a context that ends after d, and must be ended.
func timedFrom(parent context.Context, d time.Duration) *timed {
	return &timed{Context: context.WithoutCancel(parent), until: time.Now().Add(d)}
}

// Deadline is the moment at which it ends.
func (t *timed) Deadline() (time.Time, bool) { return t.until, true }

// Done is closed at the end.
func (t *timed) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waited == nil {
		t.waited, t.cancel = context.WithDeadline(t.Context, t.until)
	}
	return t.waited.Done()
}

// Err is why it has ended; nil: it has not.
func (t *timed) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.waited != nil:
		return t.waited.Err()
	case !time.Now().Before(t.until):
		return context.DeadlineExceeded
	}
	return nil
}

// end ends it, and its timer.
func (t *timed) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}
