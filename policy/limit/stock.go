package limit

// stock is an amount of everything that a quota or open_tasks counts: the units, in the order of [Amounts], and open tasks.
type stock [len(Amounts{}) + 1]int64

// stockTasks is the index of open tasks in a stock.
const stockTasks = len(Amounts{})

// stockOf is what a request takes: its amounts, and one open task where it creates one.
func stockOf(a *Amounts, task bool) (s stock) {
	copy(s[:], a[:])
	if task {
		s[stockTasks] = 1
	}
	return s
}

func (s stock) plus(o stock) stock {
	for i := range s {
		s[i] += o[i]
	}
	return s
}

func (s stock) minus(o stock) stock {
	for i := range s {
		s[i] -= o[i]
	}
	return s
}

// atMost is the smaller of two in each, and never below 0.
func (s stock) atMost(o stock) stock {
	for i := range s {
		s[i] = max(min(s[i], o[i]), 0)
	}
	return s
}

// leftOf is what a team has left by what was last known of it: of each unit the smaller of day and month. What is not
// limited is none.
func leftOf(t *terms, s *state) (left stock) {
	for i := range left {
		left[i] = none
	}
	for q, limit := range t.quotas {
		if limit == none {
			continue
		}
		rest := max(limit-s.used[q]-s.held[q], 0)
		if unit := q / 2; left[unit] == none || rest < left[unit] {
			left[unit] = rest
		}
	}
	if t.tasks != none {
		left[stockTasks] = max(t.tasks-s.tasks, 0)
	}
	return left
}
