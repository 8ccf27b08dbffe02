package limittest

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock is moved by the test.
type Clock struct {
	mu    sync.Mutex
	at    time.Time
	asked atomic.Int64
}

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *Clock) Micros() int64 { return c.Now().UnixMicro() }

// Wrong is the time as a process has it whose own clock nobody may rely on: right, a day slow, a day fast.
func (c *Clock) Wrong() time.Time {
	return c.Now().AddDate(0, 0, int(c.asked.Add(1)%3)-1)
}

func NewClock() *Clock { return &Clock{at: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }
