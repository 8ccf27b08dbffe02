package limit

import (
	"sync"
	"sync/atomic"
	"time"
)

// testClock is moved by the test.
type testClock struct {
	mu    sync.Mutex
	at    time.Time
	asked atomic.Int64
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *testClock) micros() int64 { return c.now().UnixMicro() }

// wrong is the time as a process has it whose own clock nobody may rely on: right, a day slow, a day fast.
func (c *testClock) wrong() time.Time {
	return c.now().AddDate(0, 0, int(c.asked.Add(1)%3)-1)
}

func newClock() *testClock { return &testClock{at: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }
