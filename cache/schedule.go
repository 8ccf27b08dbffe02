package cache

import (
	"context"
	"maps"
	"slices"
	"time"
)

// steps are the finisher's waits between queries about a task, in intervals: it queries less often as time passes.
var steps = []time.Duration{1, 2, 4, 8, 12}

// lastLook is how long before the end of a task's life the finisher queries it once more.
const lastLook = time.Minute

// unheardFor is how much longer than the task a claim is kept if the end of the task was never seen. The hold lasts as long, so
// that it is charged with what the claim says. Polls do not find such a claim.
const unheardFor = time.Hour

// handedFor is how long a task that was handed out is not handed out again: as long as a query may take, and the wait for another's.
// After that it is: the process that took it may have died, or could not reach Redis.
const handedFor = 15 * time.Second

// NextQuery is when the finisher queries a task again: a step after the last query, but also lastLook before the task's life ends,
// and at its end. queries is its [Claim.Queries].
func NextQuery(now, created time.Time, ttl, interval time.Duration, queries int) time.Time {
	next := now.Add(interval * steps[min(queries, len(steps)-1)])
	end := created.Add(ttl)
	for _, bound := range []time.Time{end.Add(-min(lastLook, ttl/10)), end} {
		if now.Before(bound) && next.After(bound) {
			return bound
		}
	}
	return next
}

// Due hands out up to most tasks that are due, each to one caller for a while, including expired ones whose end was never
// seen. Teams get equal parts and alternate in the list; two tasks of teams that go first come before each task of others.
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
			c.due[claim] = now.Add(handedFor)
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

// Maintain has nothing to do in memory.
func (c *Claims) Maintain(context.Context) error { return nil }

// Forget hands a task out no more.
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

// turnOrder is the order of the teams in a round: those that go first before the others, with another team at the head of
// each part every round.
func turnOrder(teams []string, first map[string]bool, round int) []string {
	slices.Sort(teams)
	var parts [2][]string // those that go first, the others
	for _, team := range teams {
		n := part(team, first)
		parts[n] = append(parts[n], team)
	}
	for _, list := range parts {
		if len(list) > 0 {
			rotate(list, round%len(list))
		}
	}
	return before(parts[0], parts[1])
}

// part is 0 for a team that goes first, 1 for the others.
func part(team string, first map[string]bool) int {
	if first[team] {
		return 0
	}
	return 1
}

// before puts two of those that go first before each of the others. A round ends with the account's queries, and teams that
// go first must not use them all.
func before[T any](first, others []T) []T {
	list := make([]T, 0, len(first)+len(others))
	for len(first) > 0 || len(others) > 0 {
		n, m := min(2, len(first)), min(1, len(others))
		list = append(append(list, first[:n]...), others[:m]...)
		first, others = first[n:], others[m:]
	}
	return list
}

// rotate puts the n-th at the head.
func rotate(list []string, n int) {
	slices.Reverse(list[:n])
	slices.Reverse(list[n:])
	slices.Reverse(list)
}

// share takes up to most tasks: of each team an equal part, and more of some if others have less. take returns up to n tasks of
// a team, and whether it may have more.
func share(teams []string, most int, take func(team string, n int) ([]Claim, bool)) map[string][]Claim {
	taken := make(map[string][]Claim, len(teams))
	for hungry := teams; most > 0 && len(hungry) > 0; {
		var still []string
		part := max(most/len(hungry), 1)
		for _, team := range hungry {
			if most == 0 {
				break
			}
			list, more := take(team, min(part, most))
			taken[team] = append(taken[team], list...)
			most -= len(list)
			if more {
				still = append(still, team)
			}
		}
		hungry = still
	}
	return taken
}

// inTurn lists tasks, one of each team in turn, in the order of before.
func inTurn(order []string, first map[string]bool, taken map[string][]Claim) []Claim {
	var parts [2][]Claim
	for n, more := 0, true; more; n++ {
		more = false
		for _, team := range order {
			if n < len(taken[team]) {
				of := part(team, first)
				parts[of] = append(parts[of], taken[team][n])
				more = true
			}
		}
	}
	return before(parts[0], parts[1])
}
