package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// housed are accounts of either form, for tests of the house.
type housed interface {
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error)
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
	Maintain(ctx context.Context) error
	Holds(ctx context.Context) (open int, oldest time.Time, err error)
}

// estate is a teams file with a house, and accounts of one form.
type estate struct {
	*testing.T
	housed
	*teams.File
	clock *limittest.Clock
	wait  func() // until what is kept for later was done
	sweep func(id string)
	n     int
}

// estates runs a test over both forms.
func estates(t *testing.T, doc string, test func(e *estate)) {
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("memory", func(t *testing.T) {
		clock := limittest.NewClock()
		m := limit.NewMemory(clock.Now)
		test(&estate{T: t, housed: m, File: file, clock: clock, wait: func() {}, sweep: func(id string) { _, _ = m.Sweep(t.Context(), id, 100) }})
	})
	harnesses(t, nil, func(s *harness) {
		test(&estate{T: s.T, housed: s.Failover, File: file, clock: s.clock, wait: s.settled, sweep: s.sweep})
	})
}

// without is the file without its house.
func without(file *teams.File) *teams.File {
	bare := *file
	bare.House = nil
	return &bare
}

func (e *estate) hold(file *teams.File, team string, a limit.Amounts) *limit.Hold {
	e.n++
	h := hold(fmt.Sprintf("h%d", e.n), file.Team(team), a)
	h.Outside, h.Lease = limit.OutsideFor(file, h.Model), time.Hour
	return &h
}

// ask asks for images.
func (e *estate) ask(team string, images int64) limit.Verdict {
	e.Helper()
	return e.try(e.hold(e.File, team, limit.Amounts{limit.Requests: 1, limit.Images: images}))
}

func (e *estate) try(h *limit.Hold) limit.Verdict {
	e.Helper()
	v, err := e.Admit(e.Context(), h)
	if err != nil {
		e.Fatal(err)
	}
	return v
}

func (e *estate) must(team string, images int64) *limit.Held {
	e.Helper()
	v := e.ask(team, images)
	if v.Held == nil {
		e.Fatalf("%d images of %s were refused: %+v", images, team, v)
	}
	return v.Held
}

func (e *estate) charge(h *limit.Held, images int64) {
	e.Helper()
	c := &limit.Charge{Held: h, Team: e.Team(h.Team), Amounts: limit.Amounts{limit.Requests: 1, limit.Images: images}}
	if done, err := e.Settle(e.Context(), c); err != nil || !done {
		e.Errorf("settled %v, %v", done, err)
	}
}

// images are those that the quota of a day used and holds, of a team or the house.
func (e *estate) images(of *teams.Team) (used, held int64) {
	e.Helper()
	r, err := e.Look(e.Context(), of)
	if err != nil {
		e.Fatal(err)
	}
	for _, s := range r.Limits {
		if s.Name() == "images-day" {
			return s.Used, s.Held
		}
	}
	e.Fatalf("%s has no quota of images", of.ID)
	return 0, 0
}

// wants compares what the house used and holds.
func (e *estate) wants(about string, used, held int64) {
	e.Helper()
	if u, h := e.images(e.House.Account); u != used || h != held {
		e.Errorf("%s: the house used %d and holds %d, want %d and %d", about, u, h, used, held)
	}
}

const estateDoc = `
house: {quotas: {images: {day: 10, month: 40}}}
teams:
  - id: search
    quotas: {images: {day: 8}}
  - id: shop
  - id: trial
    shadow: true
    quotas: {images: {day: 1}}
`

// All teams together have the house's quota, those in shadow mode and without limits, too. A refusal takes nothing anywhere.
func TestTheHouseCapsAllTeams(t *testing.T) {
	estates(t, estateDoc, func(e *estate) {
		a, b := e.must("search", 4), e.must("trial", 3)
		e.wants("two are held", 0, 7)
		for team, want := range map[string]string{
			"shop": "The house, which is all teams together, has 3 left of its quota images-day of 10, and this request may cost 4; running " +
				"requests hold the rest, which may be free in 5s.",
			"trial": "The house, which is all teams together, has 3 left of its quota images-day of 10, and this request may cost 4; running " +
				"requests hold the rest, which may be free in 5s.",
			"search": "The house, which is all teams together, has 3 left of its quota images-day of 10, and this request may cost 4; running " +
				"requests hold the rest, which may be free in 5s.",
		} {
			v := e.ask(team, 4)
			if text := v.Explain(&limit.Hold{Team: e.Team(team)}); v.Held != nil || v.Reason != limit.ReasonHouse ||
				v.Fault.Scope != limit.ScopeHouse || text != want {
				e.Errorf("%s: %+v: %s", team, v, text)
			}
		}
		e.wants("three were refused", 0, 7)
		if used, held := e.images(e.Team("search")); used != 0 || held != 4 {
			e.Errorf("the team used %d and holds %d", used, held)
		}
		e.charge(a, 2)
		e.charge(b, 3)
		e.wants("both were settled", 5, 0)
		e.charge(e.must("shop", 5), 5)
		if v := e.ask("shop", 1); v.Reason != limit.ReasonHouse || v.Wait != 12*time.Hour || v.Fault.Used != 10 {
			e.Errorf("the day is used up: %+v", v)
		}
		e.clock.Move(12 * time.Hour)
		e.must("shop", 1)
	})
}

// What a team refuses is given back to the house. Of the limits that refuse, the one with the longest wait is named, at equal waits
// the team's.
func TestTheLongestWaitOfTeamAndHouse(t *testing.T) {
	estates(t, `
house: {quotas: {images: {day: 8}, requests: {month: 3}}}
teams:
  - {id: search, quotas: {images: {day: 4}}}
  - {id: shop}
`, func(e *estate) {
		e.charge(e.must("search", 4), 4)
		if v := e.ask("search", 1); v.Reason != limit.ReasonQuota || v.Fault.Scope != limit.ScopeTeam {
			e.Errorf("only the team's is used up: %+v", v)
		}
		e.wants("the team refused", 4, 0)
		e.charge(e.must("shop", 4), 4)
		if v := e.ask("search", 1); v.Reason != limit.ReasonQuota || v.Wait != 12*time.Hour {
			e.Errorf("both wait until midnight: %+v", v)
		}
		if v := e.ask("shop", 1); v.Reason != limit.ReasonHouse {
			e.Errorf("the team has no limit: %+v", v)
		}
		e.charge(e.must("shop", 0), 0)
		if v := e.ask("search", 1); v.Reason != limit.ReasonHouse || v.Fault.Name() != "requests-month" || v.Wait <= 24*time.Hour {
			e.Errorf("the house's month is longer: %+v", v)
		}
		if limits := e.ask("search", 1).Limits; len(limits) != 1 || limits[0].Left != 0 {
			e.Errorf("the client sees its team's limits alone: %+v", limits)
		}
	})
}

// What the house can never let pass is refused as such, also in shadow mode, and so is nothing that is an estimate.
func TestWhatNeverFitsIntoTheHouse(t *testing.T) {
	estates(t, "house: {quotas: {images: {day: 10}, tokens: {day: 40}, spend: {day: 5}}}\nteams:\n  - {id: trial, shadow: true}\n",
		func(e *estate) {
			v := e.ask("trial", 11)
			want := "The request asks for 11 and can never fit: the house is allowed 10 of images per day."
			if text := v.Explain(&limit.Hold{Team: e.Team("trial")}); v.Reason != limit.ReasonNever || text != want {
				e.Errorf("%+v: %s", v, text)
			}
			text := limit.Amounts{limit.Requests: 1, limit.Tokens: 1000, limit.Spend: 9 * teams.Nano}
			for n := range 4 {
				if v, err := e.Admit(e.Context(), e.hold(e.File, "trial", text)); err != nil || v.Held == nil {
					e.Errorf("%d: an estimate is a quarter at most: %+v, %v", n, v, err)
				}
			}
			if v, err := e.Admit(e.Context(), e.hold(e.File, "trial", text)); err != nil || v.Reason != limit.ReasonHouse {
				e.Errorf("four quarters are held: %+v, %v", v, err)
			}
		})
}

// A request that the upstream account's rates refuse takes nothing from the house.
func TestTheAccountRefusesBehindTheHouse(t *testing.T) {
	estates(t, "account: [{requests: {per: 1h, limit: 1}}]\nhouse: {quotas: {images: {day: 10}}}\nteams: [{id: shop}]\n", func(e *estate) {
		e.charge(e.must("shop", 1), 1)
		if v := e.ask("shop", 1); v.Reason != limit.ReasonAccount {
			e.Errorf("%+v", v)
		}
		e.wants("the account refused", 1, 0)
	})
}

// A hold that ends with its lease is charged to the house, too, and corrected by the truth that comes late; a longer lease keeps it.
func TestLeasesInTheHouse(t *testing.T) {
	estates(t, estateDoc, func(e *estate) {
		a, b := e.must("search", 4), e.must("shop", 2)
		if err := e.Extend(e.Context(), b, 3*time.Hour); err != nil {
			e.Fatal(err)
		}
		e.wait()
		e.clock.Move(2 * time.Hour)
		_ = e.Maintain(e.Context())
		e.wants("one lease has ended", 4, 2)
		e.charge(a, 1)
		e.charge(b, 2)
		e.wants("the truth", 3, 0)
	})
}

// Reports of all teams, and the count of open holds, have nothing of the house.
func TestTheHouseIsNoTeam(t *testing.T) {
	estates(t, estateDoc, func(e *estate) {
		e.charge(e.must("search", 2), 2)
		e.must("shop", 1)
		_ = e.Maintain(e.Context())
		rows, err := e.Rows(e.Context(), limit.Query{Days: []int{limit.CalendarOf(e.clock.Now()).Day}})
		if err != nil || len(rows) != 1 || rows[0].Team != "search" {
			e.Errorf("%+v, %v", rows, err)
		}
		if open, _, err := e.Holds(e.Context()); open != 1 || err != nil {
			e.Errorf("%d holds are open, %v", open, err)
		}
	})
}

// A house that is new counts what was used before it in its day and month, and what requests in flight hold; so does one that comes back.
func TestANewHouseCountsWhatWasUsedBefore(t *testing.T) {
	estates(t, estateDoc, func(e *estate) {
		none := without(e.File)
		ask := func(file *teams.File, images int64) *limit.Held {
			v, err := e.Admit(e.Context(), e.hold(file, "shop", limit.Amounts{limit.Requests: 1, limit.Images: images}))
			if err != nil || v.Held == nil {
				e.Fatalf("%+v, %v", v, err)
			}
			return v.Held
		}
		e.charge(ask(none, 3), 3)
		open := ask(none, 2)
		if v := e.ask("search", 6); v.Reason != limit.ReasonHouse {
			e.Errorf("5 of 10 are taken: %+v", v)
		}
		e.charge(e.must("search", 1), 1)
		e.charge(open, 2)
		e.wants("the house is new", 6, 0)
		e.charge(ask(none, 2), 2) // it was removed for a while
		e.charge(ask(e.File, 1), 1)
		e.wants("the house is back", 9, 0)
	})
}

// A correction of a team's use corrects the house's.
func TestAnAdjustmentReachesTheHouse(t *testing.T) {
	estates(t, estateDoc, func(e *estate) {
		e.charge(e.must("search", 4), 4)
		for _, delta := range []int64{-3, 1, -9} {
			if _, err := e.Adjust(e.Context(), limit.Correction{ID: fmt.Sprint("adjust", delta), Team: "search", Unit: unit.NameImages,
				Delta: delta, Why: "a test"}); err != nil {
				e.Fatal(err)
			}
		}
		e.wants("the last was refused", 2, 0)
		today := limit.CalendarOf(e.clock.Now()).Day
		for about, c := range map[string]limit.Correction{
			"of today, by its name": {ID: "today", Delta: 3, Day: today},
			"of yesterday":          {ID: "yesterday", Delta: 5, Day: limit.CalendarOf(e.clock.Now().AddDate(0, 0, -1)).Day},
		} {
			c.Team, c.Unit = "search", unit.NameImages
			if done, err := e.Adjust(e.Context(), c); err != nil || !done.Done {
				e.Fatal(about, done, err)
			}
		}
		e.wants("yesterday is not today", 5, 0)
	})
}

// What the running day cannot give back was used on earlier ones: the house's day has the other teams' use still, and its month gives back
// all of it. The reply to a correction that is sent again says so, too.
func TestTheHouseKeepsOtherTeamsDay(t *testing.T) {
	estates(t, estateDoc, func(e *estate) {
		e.charge(e.must("search", 8), 8)
		e.clock.Move(24 * time.Hour)
		e.charge(e.must("search", 2), 2)
		e.charge(e.must("shop", 6), 6)
		for range 2 { // sent again
			c := limit.Correction{ID: "earlier", Team: "search", Unit: unit.NameImages, Delta: -8, Why: "a test"}
			if done, err := e.Adjust(e.Context(), c); err != nil || !done.Done {
				e.Fatal(done, err)
			}
			if _, memory := e.housed.(*limit.Memory); memory { // which loses no reply
				break
			}
		}
		e.wants("shop's stand", 6, 0)
		r, err := e.Look(e.Context(), e.House.Account)
		for _, s := range r.Limits {
			if s.Name() == "images-month" && s.Used != 8 {
				e.Errorf("the house's month used %d, want 8 of 16", s.Used)
			}
		}
		if v := e.ask("shop", 5); err != nil || v.Reason != limit.ReasonHouse {
			e.Errorf("6 of 10 are used: %+v, %v", v, err)
		}
	})
}

// Over a slow network a correction reaches the house: each of its round trips has its own time.
func TestAnAdjustmentReachesTheHouseOverASlowNetwork(t *testing.T) {
	file, err := teams.Parse([]byte(estateDoc))
	if err != nil {
		t.Fatal(err)
	}
	s := newHarness(t, limittest.RealRedis(t), func(c *Config) { c.Timeout = 50 * time.Millisecond })
	h := hold("a", file.Team("search"), limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Outside, h.Lease = limit.OutsideFor(file, h.Model), time.Hour
	if v, err := s.Failover.Admit(t.Context(), &h); err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	c := limit.Correction{ID: "near", Team: "search", Unit: unit.NameImages, Delta: 1, Why: "a test"}
	for _, hook := range []redis.Hook{nil, &far{trips: map[time.Time]int{}}} {
		if hook != nil {
			s.client.AddHook(hook)
			c.ID = "far"
		}
		if done, err := s.Adjust(t.Context(), c); err != nil || !done.Done {
			t.Fatal(c.ID, done, err)
		}
	}
	if st := s.look(file.House.Account); st.Used[2*limit.Images] != 2 || s.away.Load() != nil {
		t.Errorf("the house used %d of the images that were added, want 2", st.Used[2*limit.Images])
	}
}

// The lists of teams in Redis lack the house.
func TestTheHouseHasAListOfItsOwn(t *testing.T) {
	file, err := teams.Parse([]byte(estateDoc))
	if err != nil {
		t.Fatal(err)
	}
	harnesses(t, nil, func(s *harness) {
		h := hold("a", file.Team("shop"), limit.Amounts{limit.Requests: 1})
		h.Outside, h.Lease = limit.OutsideFor(file, ""), time.Hour
		if v, err := s.Failover.Admit(s.Context(), &h); err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		names, err := s.Store.Teams(s.Context())
		if err != nil || !slices.Equal(names, []string{"shop"}) {
			t.Errorf("%v, %v", names, err)
		}
		if all, err := s.Store.Accounts(s.Context()); err != nil || !slices.Equal(all, []string{"shop", teams.HouseID}) {
			t.Errorf("%v, %v", all, err)
		}
	})
}

// A replica without the house, of an earlier release or with another file, charges the teams alone. The others add that within a
// minute, and a replica that starts does so before it admits anything.
func TestReplicasWithoutTheHouse(t *testing.T) {
	file, err := teams.Parse([]byte(estateDoc))
	if err != nil {
		t.Fatal(err)
	}
	first := newHarness(t, limittest.RealRedis(t), nil)
	replica := func() *Failover {
		f := New(Config{Store: storeAt(first.client, first.clock), Timeout: time.Minute, Replicas: 1, Now: first.clock.Now})
		t.Cleanup(func() { _ = f.Close(context.Background()) })
		return f
	}
	n := 0
	use := func(f *Failover, file *teams.File) {
		t.Helper()
		n++
		h := hold(id(n), file.Team("shop"), limit.Amounts{limit.Requests: 1, limit.Images: 1})
		h.Outside, h.Lease = limit.OutsideFor(file, ""), time.Hour
		v, err := f.Admit(t.Context(), &h)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		if _, err := f.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: h.Team, Amounts: h.Amounts}); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(about string, want int64) {
		t.Helper()
		if st := first.look(file.House.Account); st.Used[2*limit.Images] != want || st.Used[2*limit.Images+1] != want {
			t.Errorf("%s: the house used %v, want %d", about, st.Used, want)
		}
	}
	old, none := replica(), without(file)
	use(old, none)
	use(first.Failover, file)
	wants("the first with a house starts", 2)
	first.clock.Move(time.Second)
	_ = old.Maintain(t.Context())
	use(old, none)
	wants("the other has none", 2)
	first.clock.Move(checkEvery)
	_ = first.Maintain(t.Context())
	wants("a minute later", 3)
	use(old, none)
	first.clock.Move(time.Second)
	_ = old.Maintain(t.Context())
	next := replica()
	use(next, file)
	wants("another starts", 5)
	use(old, file)
	wants("the last one reads the file, too", 6)
	for range 2 {
		first.clock.Move(checkEvery)
		for _, f := range []*Failover{first.Failover, old, next} {
			_ = f.Maintain(t.Context())
		}
	}
	wants("nothing is added twice", 6)
	use(old, none)
	first.clock.Move(checkEvery)
	_ = old.Maintain(t.Context()) // it leaves the list
	first.clock.Move(time.Second)
	_ = old.Maintain(t.Context())
	_ = old.Close(t.Context())
	use(replica(), file)
	wants("one that lost its house has stopped", 8)
}

// A house that Redis forgot is restored by the replicas, once, and goes on.
func TestTheHouseIsRestored(t *testing.T) {
	file, err := teams.Parse([]byte(estateDoc))
	if err != nil {
		t.Fatal(err)
	}
	harnesses(t, nil, func(s *harness) {
		e := &estate{T: s.T, housed: s.Failover, File: file, clock: s.clock}
		e.charge(e.must("search", 3), 3)
		open := e.must("shop", 2)
		_ = s.Maintain(s.Context())
		if err := s.client.FlushAll(s.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.clock.Move(time.Second)
		_ = s.Maintain(s.Context())
		s.clock.Move(2 * redisstore.RestoringTime)
		_ = s.Maintain(s.Context())
		e.wants("restored", 3, 2)
		if v := e.ask("shop", 6); v.Reason != limit.ReasonHouse {
			s.Errorf("%+v", v)
		}
		e.charge(open, 2)
		s.clock.Move(checkEvery)
		_ = s.Maintain(s.Context())
		e.wants("it goes on", 5, 0)
	})
}

// Without Redis the house spends its allowance, as a team does: a request needs both, and one without is not admitted.
func TestTheHouseWithoutRedis(t *testing.T) {
	file, err := teams.Parse([]byte("house: {quotas: {images: {day: 1000}}}\nteams:\n  - {id: search, quotas: {images: {day: 100000}}}\n  " +
		"- {id: shop}\n"))
	if err != nil {
		t.Fatal(err)
	}
	harnesses(t, nil, func(s *harness) {
		e := &estate{T: s.T, housed: s.Failover, File: file, clock: s.clock}
		e.charge(e.must("search", 1), 1)
		e.charge(e.must("shop", 1), 1)
		s.settled()
		s.clock.Move(renewEvery)
		s.back()
		s.fault.mode.Store(away)
		var admitted int64
		for n := range 60 {
			team := []string{"search", "shop"}[n%2]
			v, err := s.Failover.Admit(s.Context(), e.hold(file, team, limit.Amounts{limit.Requests: 1, limit.Images: 1}))
			if err == nil && v.Held != nil {
				admitted++
				s.SettleLater(&limit.Charge{Held: v.Held, Team: file.Team(team), Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 1}})
			} else if err == nil || errors.Is(err, limit.ErrAmounts) {
				t.Errorf("%+v, %v", v, err)
			}
		}
		if admitted != 19 { // 998 / 50
			t.Errorf("%d images of an allowance of 19 were admitted", admitted)
		}
		s.back()
		s.settled()
		e.wants("Redis is back", 2+admitted, 0)
		if used, held := e.images(file.Team("search")); used != 1+10 || held != 0 {
			t.Errorf("the team used %d and holds %d", used, held)
		}
	})
}
