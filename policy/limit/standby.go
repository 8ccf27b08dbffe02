package limit

import (
	"crypto/rand"
	"time"

	"sluice/policy"
)

// What a Memory does as the standby of a Redis that is away: its buckets live on and are debited with what Redis
// admits; its holds and charges are there only until Redis knows them.

// openHold is a hold of the standby and what is left of its lease.
type openHold struct {
	Held
	left time.Duration
}

// correct brings a team's buckets from what was held to what was used, each replica's share of them.
func (m *Memory) correct(team string, rates [rateCount]policy.Rate, replicas int, held, used Amounts) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.correctShare(rates, replicas, held, used, a.time(m.now))
}

func (a *account) correctShare(rates [rateCount]policy.Rate, replicas int, held, used Amounts, now time.Time) {
	t := terms{rates: rates}
	for i := range t.rates {
		t.rates[i] = shareOf(t.rates[i], int64(replicas))
	}
	a.read(&t, now) // there may be no buckets yet
	a.correct(&t, held, used, now)
}

// settleHere settles a hold that is here. It reports whether one is, and whether it is apart: Redis may hold it too, so
// that the charge has to carry its id.
func (m *Memory) settleHere(c *Charge, used Amounts, t *terms, replicas int) (here, apart bool) {
	a := m.account(c.Held.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.holds[c.Held.ID]
	if held == nil {
		return false, false
	}
	a.drop(held)
	if held.rates {
		a.correctShare(t.rates, replicas, held.Amounts, used, a.time(m.now))
	}
	if held.apart {
		a.use(&held.Held, used)
		return true, true
	}
	estimated := Amounts{}
	if c.Estimated {
		estimated = used
	}
	a.post(&held.Held, used, estimated)
	return true, false
}

// holds reports whether a hold is here and nowhere else.
func (m *Memory) holds(h *Held) bool {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.holds[h.ID]
	return held != nil && !held.apart
}

// setApart notes that Redis may have a hold too, and reports whether the hold is still here.
func (m *Memory) setApart(h *Held) bool {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.holds[h.ID]
	if held != nil {
		held.apart = true
	}
	return held != nil
}

// open lists the holds of a team.
func (m *Memory) open(team string, now time.Time) (list []openHold) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds {
		list = append(list, openHold{h.Held, max(h.due.Sub(now), time.Millisecond)})
	}
	return list
}

// takeRows takes what was charged out of the ledger, as charges of their own. They still count as used here, until clear.
func (m *Memory) takeRows(team *policy.Team) (list []*Charge) {
	a := m.account(team.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
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
				list = append(list, &Charge{Held: held, Team: team, Amounts: sum.amounts, Estimated: sum.estimated})
			}
		}
	}
	a.ledger = ledger{}
	return list
}

// told reports whether Redis was told of all that happened here.
func (m *Memory) told(team string) bool {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds {
		if !h.apart {
			return false
		}
	}
	return len(a.ledger) == 0
}

// clear forgets a team's holds and charges, which Redis knows now, and keeps its buckets.
func (m *Memory) clear(team string) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used, a.held, a.holds, a.due, a.tasks = map[int]Amounts{}, map[int]Amounts{}, map[string]*heldIn{}, nil, 0
}
