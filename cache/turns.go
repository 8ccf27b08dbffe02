package cache

import "slices"

// turnOrder is the order of the teams in a round: those that go first before the others, and in each of the two another
// one at the head every time.
func turnOrder(teams []string, first map[string]bool, round int) []string {
	slices.Sort(teams)
	order := make([]string, 0, len(teams))
	for _, goes := range [...]bool{true, false} {
		from := len(order)
		for _, team := range teams {
			if first[team] == goes {
				order = append(order, team)
			}
		}
		if part := order[from:]; len(part) > 0 {
			rotate(part, round%len(part))
		}
	}
	return order
}

// rotate puts the n-th at the head.
func rotate(list []string, n int) {
	slices.Reverse(list[:n])
	slices.Reverse(list[n:])
	slices.Reverse(list)
}

// share takes tasks of the teams in their order, of each an equal part of so many, and what some leave over of those that
// have more. take returns up to n tasks of a team, and whether it may have more.
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

// inTurn lists tasks, one of each team in turn; those of the teams that go first before those of the others.
func inTurn(order []string, first map[string]bool, taken map[string][]Claim) (list []Claim) {
	for _, goes := range [...]bool{true, false} {
		for n, more := 0, true; more; n++ {
			more = false
			for _, team := range order {
				if first[team] == goes && n < len(taken[team]) {
					list = append(list, taken[team][n])
					more = true
				}
			}
		}
	}
	return list
}
