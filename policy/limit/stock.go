package limit

import "sluice/policy/unit"

// Stock is an amount of everything that a quota or open_tasks counts: the units, in the order of [Amounts], and open tasks.
type Stock [unit.Count + 1]int64

// StockTasks is the index of open tasks in a Stock.
const StockTasks = unit.Count

// StockOf returns the stock that a request takes: its amounts, and one open task if it creates one.
func StockOf(a *Amounts, task bool) (s Stock) {
	copy(s[:], a[:])
	if task {
		s[StockTasks] = 1
	}
	return s
}

// Plus adds stocks.
func (s Stock) Plus(o Stock) Stock {
	for i := range s {
		s[i] += o[i]
	}
	return s
}

// Minus subtracts stocks.
func (s Stock) Minus(o Stock) Stock {
	for i := range s {
		s[i] -= o[i]
	}
	return s
}

// AtMost is the smaller of two in each, and never below 0.
func (s Stock) AtMost(o Stock) Stock {
	for i := range s {
		s[i] = max(min(s[i], o[i]), 0)
	}
	return s
}

// LeftOf returns the stock that a team has left by its last known state: of each unit the smaller of day and month, None if it is
// not limited. A unit that quotas inside the team count has 0: it cannot be spent without Redis.
func LeftOf(t *Terms, s *State) (left Stock) {
	for i := range left {
		left[i] = None
	}
	for q, limit := range t.Quotas {
		if limit == None {
			continue
		}
		rest := max(limit-s.Used[q]-s.Held[q], 0)
		for i := range t.Inner {
			if t.Inner[i].Counts(q / 2) {
				rest = 0
			}
		}
		if u := q / 2; left[u] == None || rest < left[u] {
			left[u] = rest
		}
	}
	if t.Tasks != None {
		left[StockTasks] = max(t.Tasks-s.Tasks, 0)
	}
	return left
}
