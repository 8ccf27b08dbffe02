// Package limittest is for the tests of policy/limit and its parts: a clock that tests move, servers of Redis, and free ports.
package limittest

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a clock that tests move.
type Clock struct {
	mu    sync.Mutex
	at    time.Time
	reads atomic.Int64
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Move moves the clock, forward or back.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Micros is the clock's time in microseconds.
func (c *Clock) Micros() int64 { return c.Now().UnixMicro() }

// Wrong is the time of a process with a bad clock: alternately right, a day fast, a day slow.
func (c *Clock) Wrong() time.Time {
	return c.Now().AddDate(0, 0, int(c.reads.Add(1)%3)-1)
}

// NewClock returns a clock that shows noon.
func NewClock() *Clock { return &Clock{at: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }
