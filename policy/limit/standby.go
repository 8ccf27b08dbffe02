package limit

import (
	"container/heap"
	"crypto/rand"
	"time"

	"sluice/policy"
)

// What a Memory does as the standby of a Redis that is away: its buckets live on and are debited with what Redis
// admits; its holds and charges are there only until Redis knows them.

// correct brings the buckets that a hold was taken from to what was used, each replica's share of them.
func (m *Memory) correct(h *Held, t *terms, replicas int, held, used Amounts) {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.correctShare(h.rates, t, replicas, held, used)
}

func (a *account) correctShare(rates rateSet, t *terms, replicas int, held, used Amounts) {
	now, share := a.time(a.bank.now), terms{rates: t.rates}
	for i := range share.rates {
		share.rates[i] = shareOf(t.rates[i], int64(replicas))
	}
	a.fit(&share, now) // there may be no buckets yet
	a.correct(&share, rates, held, used, now)
}

// holds reports whether a hold is here. One that is not does not come.
func (m *Memory) holds(h *Held) bool {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.holds[h.ID] != nil
}

// settleHere settles a hold that is here. It reports whether one is, and whether it is apart: Redis may hold it too, so
// that the charge goes there at once, by its id.
func (m *Memory) settleHere(c *Charge, used Amounts, t *terms, replicas int) (here, apart bool) {
	a := m.account(c.Held.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.holds[c.Held.ID]
	if held == nil {
		return false, false
	}
	a.drop(held)
	a.correctShare(held.rates, t, replicas, held.Amounts, used)
	if held.apart {
		held.use(used)
		return true, true
	}
	if c.Held.Task { // another replica may hear of its end, too: in a sum nobody would see that it is the same
		ended := held.Held
		ended.Task, ended.local = true, true
		a.ended = append(a.ended, &Charge{Held: &ended, Team: c.Team, Amounts: used, Estimated: c.Estimated})
		held.use(used)
		return true, false
	}
	estimated := Amounts{}
	if c.Estimated {
		estimated = used
	}
	a.post(held, used, estimated)
	return true, false
}

// extendHere gives a hold that is here a new lease, and reports whether Redis may have it too, or alone.
func (m *Memory) extendHere(h *Held, lease time.Duration) bool {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.holds[h.ID]
	if held != nil {
		held.lengthen(a.time(m.now).Add(lease))
		heap.Fix(&a.due, held.index)
	}
	return held == nil || held.apart
}

// lengthen gives a hold a lease that ends at due, where that is later.
func (h *heldIn) lengthen(due time.Time) {
	if due.After(h.due) {
		h.due = due
	}
}

// setApart notes that Redis may have a hold too. It returns what is left of its lease, and whether it is still here.
func (m *Memory) setApart(h *Held) (left time.Duration, here bool) {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.holds[h.ID]
	if held == nil {
		return 0, false
	}
	held.apart = true
	return max(held.due.Sub(a.time(m.now)), time.Millisecond), true
}

// setTold notes that Redis has a hold now.
func (m *Memory) setTold(h *Held) {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.holds[h.ID]; held != nil {
		held.told = true
	}
}

// open lists the holds of a team that Redis was not told of.
func (m *Memory) open(team string) (list []*Held) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds {
		if !h.told {
			held := h.Held
			list = append(list, &held)
		}
	}
	return list
}

// takeCharges takes what was charged: tasks one by one, the rest out of the ledger, as sums. They still count as used here,
// until clear.
func (m *Memory) takeCharges(team *policy.Team) (list []*Charge) {
	a := m.account(team.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	list, a.ended = a.ended, nil
	for _, day := range a.ledger {
		for _, row := range day {
			for _, sum := range []struct {
				amounts   Amounts
				estimated bool
			}{{row.Used.minus(row.Estimated), false}, {row.Estimated, true}} {
				if sum.amounts == (Amounts{}) {
					continue
				}
				held := &Held{ID: "sum-" + rand.Text(), Team: team.ID, Model: row.Model, Endpoint: row.Endpoint, Day: row.Day, Month: row.Day / 100}
				list = append(list, &Charge{Held: held, Team: team, Amounts: sum.amounts, Estimated: sum.estimated, sum: true})
			}
		}
	}
	a.ledger = ledger{}
	a.shareOfRates(list)
	return list
}

// shareOfRates says what charges take from the rates: no more than the buckets here miss. What was spent longer ago has
// refilled there, too.
func (a *account) shareOfRates(list []*Charge) {
	now := a.time(a.bank.now)
	var missing Amounts
	for i, b := range a.buckets {
		if b != nil {
			missing[i] = max(b.rate.Burst-b.fill(b.level(now)).left, 0)
		}
	}
	for _, c := range list {
		c.rates = &Amounts{}
		for i := range a.buckets {
			c.rates[i] = min(c.Amounts[i], missing[i])
			missing[i] -= c.rates[i]
		}
	}
}

// told reports whether Redis was told of all that happened here.
func (m *Memory) told(team string) bool {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds {
		if !h.told {
			return false
		}
	}
	return len(a.ledger) == 0 && len(a.ended) == 0
}

// clear forgets a team's holds and charges, which Redis knows now, and keeps its buckets.
func (m *Memory) clear(team string) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.periods, a.holds, a.due, a.tasks = map[int]*tally{}, map[string]*heldIn{}, nil, 0
}
