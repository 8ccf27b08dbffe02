package limit

import (
	"sync"
	"sync/atomic"

	"sluice/policy/teams"
)

// memorySeed says whether an account outside of the teams counts all that the teams used. An account without quotas is not charged: a
// request that is admitted without it makes its count incomplete.
type memorySeed struct {
	state atomic.Int32
	turn  sync.Mutex // held while seeding
}

// The states. Seeding ends in complete unless a request was admitted without the accounts meanwhile.
const (
	unseeded int32 = iota
	seeding
	complete
)

// without notes that a request was admitted without an account outside of its team.
func without(m *Memory, id string) {
	if a := m.teams.Known(id); a != nil && a.seed.state.Load() != unseeded { // a load costs less than a store
		a.seed.state.Store(unseeded)
	}
}

// seeded returns an account outside of the teams, which counts what the teams used and hold in the running day and month. Its count may
// be too large, by what is admitted meanwhile and by what requests in flight hold and will not use.
func seeded(m *Memory, id string) *account {
	a := m.teams.Get(id)
	s := &a.seed
	for s.state.Load() != complete {
		s.turn.Lock()
		if s.state.Load() != complete {
			s.state.Store(seeding)
			catchUp(m, a, id)
			s.state.CompareAndSwap(seeding, complete)
		}
		s.turn.Unlock()
	}
	return a
}

// catchUp increases the use of an account to what all teams used and hold of it, if that is more than it used and holds.
func catchUp(m *Memory, own *account, id string) {
	date, has := own.taken()
	missing := Taken{}.Minus(has)
	at, only := teams.AccountOfQuotas(id)
	m.teams.Each(func(id string, a *account) {
		switch {
		case teams.IsOutside(id):
		case only:
			missing = missing.Plus(takenAt(a, accountOf(at), &date))
		default:
			_, of := a.taken()
			missing = missing.Plus(of)
		}
	})
	own.mu.Lock()
	defer own.mu.Unlock()
	of := own.books[ScopeTeam].tally(date.Day, "", false)
	for p, in := range [...]*tally{of, of.month} {
		for unit := range in.used {
			in.used[unit] += max(missing[2*unit+p], 0)
		}
	}
}

// taken is what the account used and holds today and this month.
func (a *account) taken() (date Calendar, t Taken) {
	a.mu.Lock()
	defer a.mu.Unlock()
	date = a.date.at(a.time())
	var b Balance
	a.books[ScopeTeam].read(&date, "", false, &b)
	return date, TakenOf(&b)
}

// takenAt is what a team used and holds on an account at the service, on a date and in its month.
func takenAt(a *account, at string, date *Calendar) (t Taken) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for day, on := range a.ledger {
		for of, row := range on.rows {
			if of.account == at {
				t.Add(date, day, &row.Used)
			}
		}
	}
	for _, h := range a.holds {
		if h.Account == at && !h.expired {
			t.Add(date, h.Day, &h.Amounts)
		}
	}
	return t
}

// Add adds amounts of a day, as far as they are in the date or its month.
func (t *Taken) Add(date *Calendar, day int, amounts *Amounts) {
	for q := range t {
		if q%2 == 1 && day/100 == date.Month || day == date.Day {
			t[q] += amounts[q/2]
		}
	}
}

// Taken is what an account used and holds of each unit in a day and its month, by the numbers of the quotas.
type Taken [QuotaCount]int64

// TakenOf is what a balance has used and holds.
func TakenOf(b *Balance) (t Taken) {
	for q := range t {
		t[q] = b.Used[q] + b.Held[q]
	}
	return t
}

// Plus adds another's.
func (t Taken) Plus(o Taken) Taken {
	for q := range t {
		t[q] += o[q]
	}
	return t
}

// Minus subtracts another's.
func (t Taken) Minus(o Taken) Taken {
	for q := range t {
		t[q] -= o[q]
	}
	return t
}
