package cache

import (
	"context"
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
// life is over without that anybody has heard of their end.
func (c *Claims) Due(_ context.Context, most int) (list []Claim, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for claim, at := range c.due {
		if len(list) == most {
			break
		}
		if !at.After(now) {
			c.due[claim] = now.Add(handed)
			list = append(list, *claim)
		}
	}
	return list, nil
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
