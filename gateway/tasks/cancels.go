package tasks

import (
	"sync"
	"time"
)

// cancels knows when each team last cancelled. A cancel without room in the rate is refused, unlike a poll. So the first cancel
// of a team in a second goes first, and further ones get what is left.
type cancels struct {
	mu   sync.Mutex
	last map[string]time.Time // by team; grows with the teams file
}

// first reports whether the team has not cancelled for a second.
func (l *cancels) first(team string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, known := l.last[team]; known && now.Sub(last) < time.Second {
		return false
	}
	if l.last == nil {
		l.last = make(map[string]time.Time)
	}
	l.last[team] = now
	return true
}
