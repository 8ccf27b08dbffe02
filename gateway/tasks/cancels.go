package tasks

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// cancels allows each team one cancel a second. A cancel without room in the account's rate is refused, unlike a poll. So the first
// cancel of a team in a second goes first, and further ones get what is left.
type cancels struct {
	mu    sync.Mutex
	teams map[string]*rate.Limiter // grows with the teams file
}

// first reports whether the team has not cancelled for a second.
func (l *cancels) first(team string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.teams == nil {
		l.teams = make(map[string]*rate.Limiter)
	}
	if l.teams[team] == nil {
		l.teams[team] = rate.NewLimiter(rate.Every(time.Second), 1)
	}
	return l.teams[team].AllowN(now, 1)
}
