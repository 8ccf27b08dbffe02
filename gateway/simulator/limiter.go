package simulator

import (
	"sync"
	"time"
)

// limiter lets rate calls pass in any one second, wherever the second begins: the strictest reading of "20 per second".
// A token bucket would let more pass.
type limiter struct {
	mu     sync.Mutex
	passed []time.Time // a ring of the last rate passes
	next   int
}

func newLimiter(rate int) *limiter {
	return &limiter{passed: make([]time.Time, rate)}
}

// allow reports whether a call at now passes.
func (l *limiter) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.passed[l.next]
	if !oldest.IsZero() && now.Sub(oldest) < time.Second {
		return false
	}
	l.passed[l.next] = now
	l.next = (l.next + 1) % len(l.passed)
	return true
}
