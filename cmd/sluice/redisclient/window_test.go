package redisclient

import (
	"testing"
	"time"
)

// Calls that time out one after another must open the breaker before the window ends and forgets them.
func TestFailuresInRowFitIntoTheWindow(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		50 * time.Millisecond: breakerWindow, 250 * time.Millisecond: 2500 * time.Millisecond, time.Second: 10 * time.Second,
	} {
		c := &Client{config: Config{Timeout: timeout}}
		if got := c.window(); got != want || got < failuresInRow*timeout {
			t.Errorf("a timeout of %v: a window of %v, want %v", timeout, got, want)
		}
	}
}
