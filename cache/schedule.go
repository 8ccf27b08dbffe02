package cache

import (
	"context"
	"maps"
	"slices"
	"time"
)

// steps are the finisher's waits after a query, in intervals: the longer nobody hears anything, the rarer it asks.
var steps = []time.Duration{1, 2, 4, 8, 12}

// lastLook is how long before the end of a task's life it is asked for once more.
const lastLook = time.Minute

// unheardFor is how much longer than its task a claim is kept whose end nobody has heard: the hour for which its hold
// still stands, so that it is charged by who knows what it is. Polls find it no more.
const unheardFor = time.Hour

// handed is how long a task that was handed out is not handed out again, so that whoever has it may die.
const handed = 30 * time.Second

// NextAsk is when the finisher asks about a task of such an age again: a step after the last query, and in any case
// shortly before the task's life ends, and when it has ended.
func NextAsk(now, created time.Time, ttl, interval time.Duration, asks int) time.Time {
	next := now.Add(interval * steps[min(asks, len(steps)-1)])
	end := created.Add(ttl)
	for _, bound := range []time.Time{end.Add(-min(lastLook, ttl/10)), end} {
		if now.Before(bound) && next.After(bound) {
			return bound
		}
	}
	return next
}

// Due hands out tasks that have not ended and are due to be asked for, each to one caller for a while; also those whose
// life is over without that anybody has heard of their end. Teams have equal parts of so many, and their turns in the list;
// two of those that go first stand before each of the others.
func (c *Claims) Due(_ context.Context, most int, first map[string]bool) ([]Claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	due := map[string][]*Claim{}
	for claim, at := range c.due {
		if !at.After(now) {
			due[claim.Team] = append(due[claim.Team], claim)
		}
	}
	for _, claims := range due {
		slices.SortFunc(claims, func(a, b *Claim) int { return c.due[a].Compare(c.due[b]) })
	}
	order := turnOrder(slices.Collect(maps.Keys(due)), first, c.round)
	c.round++
	taken := share(order, most, func(team string, n int) (list []Claim, more bool) {
		n = min(n, len(due[team]))
		for _, claim := range due[team][:n] {
			c.due[claim] = now.Add(handed)
			list = append(list, *claim)
		}
		due[team] = due[team][n:]
		return list, len(due[team]) > 0
	})
	return inTurn(order, first, taken), nil
}

// Schedule sets when a task that has not ended is due.
func (c *Claims) Schedule(_ context.Context, claim *Claim, at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.byTask[owned{claim.Team, claim.Task}]
	if _, open := c.due[kept]; open {
		c.due[kept] = at
	}
	return nil
}

// Tend has nothing to do: in memory everything is known at once.
func (c *Claims) Tend(context.Context) error { return nil }

// Forget ends a task that nobody will hear of any more.
func (c *Claims) Forget(_ context.Context, claim *Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for kept := range c.due {
		if kept.Team == claim.Team && kept.Task == claim.Task {
			delete(c.due, kept)
		}
	}
	return nil
}
