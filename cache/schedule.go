package cache

import (
	"slices"
	"time"
)

// steps are the finisher's waits between queries about a task, in intervals: it queries less often as time passes.
var steps = []time.Duration{1, 2, 4, 8, 12}

// lastLook is how long before the end of a task's life the finisher queries it once more.
const lastLook = time.Minute

// unheardFor is how much longer than the task a claim is kept if the end of the task was never seen. The hold lasts as
// long, so that it is charged as the claim describes. Polls do not find such a claim.
const unheardFor = time.Hour

// handedFor is how long a task that was handed out is not handed out again: as long as its query and the wait for
// another caller's query may take. The process that took it may have died, or failed to reach Redis.
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

// share lists up to most tasks for the finisher: an equal part of each team, and more of some if others have less.
// take takes up to n tasks of a team, and reports whether it may have more. Teams alternate in the list, with another
// team at the head every round. A round may end when the account's queries are used up, which the teams in first must
// not cause: two of their tasks precede each task of the others.
func share(teams []string, first map[string]bool, round, most int, take func(team string, n int) ([]Claim, bool)) []Claim {
	slices.Sort(teams)
	goes, others := turned(teams, first, true, round), turned(teams, first, false, round)
	taken := make(map[string][]Claim, len(teams))
	for hungry := before(goes, others); most > 0 && len(hungry) > 0; {
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
	return before(inTurn(goes, taken), inTurn(others, taken))
}

// turned returns the teams in first, or the others, with another one at the head every round.
func turned(teams []string, first map[string]bool, goes bool, round int) []string {
	teams = slices.DeleteFunc(slices.Clone(teams), func(team string) bool { return first[team] != goes })
	if len(teams) == 0 {
		return nil
	}
	n := round % len(teams)
	return slices.Concat(teams[n:], teams[:n])
}

// before puts two elements of first before each element of others.
func before[T any](first, others []T) []T {
	list := make([]T, 0, len(first)+len(others))
	for len(first) > 0 || len(others) > 0 {
		n, m := min(2, len(first)), min(1, len(others))
		list = append(append(list, first[:n]...), others[:m]...)
		first, others = first[n:], others[m:]
	}
	return list
}

// inTurn lists tasks, one of each team in turn.
func inTurn(order []string, taken map[string][]Claim) (list []Claim) {
	for n, more := 0, true; more; n++ {
		more = false
		for _, team := range order {
			if n < len(taken[team]) {
				list, more = append(list, taken[team][n]), true
			}
		}
	}
	return list
}
