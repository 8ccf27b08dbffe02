package redisstore

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// version is that of the ledger of a day.
func (f *form) version(day int) uint64 {
	f.Helper()
	versions, err := f.redis.Versions(f.Context(), []int{20200101, day})
	if err != nil || len(versions) != 2 || versions[0] != 0 {
		f.Fatalf("versions %v, %v", versions, err)
	}
	return versions[1]
}

// A change of the ledger more than a day after its day raises the day's version, however it is made: by a settlement, alone or
// with others, by the end of a lease, by the true use after that.
func TestALateChangeRaisesTheVersionOfItsDay(t *testing.T) {
	forms(t, func(f *form) {
		if f.memory != nil {
			return // no sums of it are kept
		}
		team := limittest.Team(f)
		if err := f.redis.List(f.Context(), team.ID); err != nil {
			f.Fatal(err)
		}
		one := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
		var holds []limit.Hold
		for n := range 4 {
			h := hold(id(n), team, one)
			h.Lease = 60 * 24 * time.Hour
			f.admit(h)
			holds = append(holds, h)
		}
		expiring := hold("expiring", team, one)
		expiring.Lease = 3 * 24 * time.Hour
		f.admit(expiring)
		day := limit.CalendarOf(f.clock.Now()).Day
		f.clock.Move(3*24*time.Hour - time.Hour)
		was := f.version(day)
		changed := func(what string, change func()) {
			f.Helper()
			if change(); f.version(day) == was {
				f.Errorf("%s does not change the version %d", what, was)
			}
			was = f.version(day)
		}
		changed("a settlement", func() { f.settle(f.held(holds[0]), team, one, false) })
		changed("another in the same microsecond", func() { f.settle(f.held(holds[1]), team, limit.Amounts{limit.Requests: 1}, true) })
		f.clock.Move(2 * time.Hour)
		changed("the end of a lease", func() { f.look(team) })
		changed("the truth", func() { f.settle(f.held(expiring), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 2}, false) })
		if f.look(team); f.version(day) != was {
			f.Error("a look changes the version")
		}
		today := hold("today", team, one)
		f.admit(today)
		if f.settle(f.held(today), team, one, false); f.version(day) != was {
			f.Error("what is charged today changes the version of a day before")
		}
	})
}
