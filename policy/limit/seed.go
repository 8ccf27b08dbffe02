package limit

import (
	"sync"
	"sync/atomic"

	"sluice/policy/teams"
)

// memorySeeds says which accounts outside of the teams count all that the teams used. An account without quotas is not charged: a
// request that is admitted without it makes its count incomplete.
type memorySeeds struct{ of PerTeam[memorySeed] }

type memorySeed struct {
	state atomic.Int32
	turn  sync.Mutex // held while seeding
}

// The states. Seeding ends in seeded unless a request was admitted without the accounts meanwhile.
const (
	unseeded int32 = iota
	seeding
	seeded
)

// without notes that a request was admitted without an account outside of its team.
func (s *memorySeeds) without(id string) {
	if of := s.of.Known(id); of != nil && of.state.Load() != unseeded { // a load costs less than a store
		of.state.Store(unseeded)
	}
}

// seed makes sure that an account outside of the teams counts what the teams used and hold in the running day and month. Its count may
// be too large, by what is admitted meanwhile and by what requests in flight hold and will not use.
func seed(m *Memory, document *teams.Team) {
	s := m.seeds.of.Get(document.ID)
	for s.state.Load() != seeded {
		s.turn.Lock()
		if s.state.Load() != seeded {
			s.state.Store(seeding)
			catchUp(m, document.ID)
			s.state.CompareAndSwap(seeding, seeded)
		}
		s.turn.Unlock()
	}
}

// catchUp increases the use of an account to what all teams used and hold of it, if that is more than it used and holds.
func catchUp(m *Memory, id string) {
	own := m.teams.Get(id)
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
