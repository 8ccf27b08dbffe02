package limit

import (
	"sync"
	"sync/atomic"

	"sluice/policy/teams"
)

// memorySeeds says whether the accounts outside of the teams count all that the teams used. They do not after a request that was
// admitted without them: until then the teams file had no house.
type memorySeeds struct {
	state atomic.Int32
	turn  sync.Mutex // of the one that seeds
}

// The states. Seeding ends in seeded unless a request was admitted without the accounts meanwhile.
const (
	unseeded int32 = iota
	seeding
	seeded
)

// unhoused notes that a request was admitted without the accounts outside of its team.
func (s *memorySeeds) unhoused() {
	if s.state.Load() != unseeded { // a load costs less than a store
		s.state.Store(unseeded)
	}
}

// seed makes sure that an account outside of the teams counts what the teams used and hold in the running day and month. It errs
// upwards by what is admitted meanwhile, and by what requests in flight hold and will not use.
func seed(m *Memory, account *teams.Team) {
	for m.seeds.state.Load() != seeded {
		m.seeds.turn.Lock()
		if m.seeds.state.Load() != seeded {
			m.seeds.state.Store(seeding)
			raise(m, account.ID)
			m.seeds.state.CompareAndSwap(seeding, seeded)
		}
		m.seeds.turn.Unlock()
	}
}

// raise raises the use of an account to what all teams used and hold, if that is more than it used and holds.
func raise(m *Memory, id string) {
	own := m.teams.Get(id)
	date, has := own.taken()
	missing := Taken{}.Minus(has)
	m.teams.Each(func(id string, a *account) {
		if !teams.IsOutside(id) {
			_, of := a.taken()
			missing = missing.Plus(of)
		}
	})
	own.mu.Lock()
	defer own.mu.Unlock()
	for p, in := range own.books[ScopeTeam].tallies(date.Day, "") {
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
	a.books[ScopeTeam].read(&date, "", &b)
	return date, TakenOf(&b)
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

// Plus adds what another took.
func (t Taken) Plus(o Taken) Taken {
	for q := range t {
		t[q] += o[q]
	}
	return t
}

// Minus subtracts what another took.
func (t Taken) Minus(o Taken) Taken {
	for q := range t {
		t[q] -= o[q]
	}
	return t
}
