package cache

import "slices"

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
