package tasks

import (
	"sync"
	"time"
)

// cancels knows when teams cancelled. Unlike a poll, a cancel that finds no room is refused, so one a second of each team
// goes before what others send beyond that: they have what is left over.
type cancels struct {
	mu   sync.Mutex
	last map[string]time.Time // by team; grows with the teams file
}

// first reports whether a team asks for the first time in a second.
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
