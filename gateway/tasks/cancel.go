package tasks

import (
	"context"
	"sync"
	"time"

	"sluice/cache"
	"sluice/telemetry"
)

// MayCancel takes a cancel of the account's rate of them, which the service counts apart from queries, and reports whether
// there was one for the team.
func (t *Tasks) MayCancel(ctx context.Context, team string) bool {
	allowed, err := t.deps.Cancels.Allow(ctx, team, !t.cancels.first(team, t.deps.Now()))
	return err != nil || allowed
}

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

// Look asks for a task's state although the last known one is fresh, if nobody is asking or has just asked in vain. Took is
// zero where it did not ask.
func (t *Tasks) Look(ctx context.Context, claim cache.Claim, cancel telemetry.Span) Told {
	last := Told{Claim: claim, Source: Stale}
	if t.turn(ctx, &claim, false, true) != cache.Mine {
		return last
	}
	return t.query(ctx, last, asker{span: cancel})
}
