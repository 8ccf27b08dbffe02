package redisstore

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// renewing makes renewals in Redis directly, without a Failover.
type renewing struct {
	*form
	team  *teams.Team
	calls map[string]int64 // by replica
}

// renewings runs a test over a real Redis and over its double, for a team of 1,000 images a day.
func renewings(t *testing.T, test func(f *renewing)) {
	redisForms(t, func(form *form) {
		f := &renewing{form: form, team: limittest.Team(form, "quotas: {images: {day: 1000, month: 1500}}", "open_tasks: 100"),
			calls: map[string]int64{}}
		f.ask(hold("first", f.team, limit.Amounts{}))
		test(f)
	})
}

// renewed is a renewal of one replica.
type renewed struct {
	*Renewal
	by string
}

// renewal returns one of a replica, for a lease of ten minutes, on the running day.
func (f *renewing) renewal(replica string, keep, want int64) renewed {
	f.calls[replica]++
	return renewed{&Renewal{
		Team: f.team, Call: f.calls[replica], Alive: 1,
		Rows: []RenewalRow{{Day: limit.CalendarOf(f.clock.Now()).Day, Keep: limit.Stock{limit.Images: keep},
			Want: limit.Stock{limit.Images: want}}},
	}, replica}
}

// send makes a renewal and returns its error.
func (f *renewing) send(r renewed) error {
	f.redis.Peer.ID, f.redis.Peer.Lease = r.by, 10*time.Minute
	_ = f.redis.Renew(f.Context(), []*Renewal{r.Renewal})
	return r.Err
}

// renews makes a renewal and returns its growth.
func (f *renewing) renews(r renewed) int64 {
	f.Helper()
	if err := f.send(r); err != nil {
		f.Fatal(err)
	}
	return r.Rows[0].Grown[limit.Images]
}

// wants checks how many images are set aside for the day and its month, used in them and in the ledger.
func (f *renewing) wants(about string, aside, used int64) {
	f.Helper()
	all := f.client.HGetAll(f.Context(), "sl1:{search}:quota").Val()
	for _, period := range []string{"20261121", "202611"} {
		if got, _ := strconv.ParseInt(all[period+":images:aside"], 10, 64); got != aside {
			f.Errorf("%s: in %s %d are set aside, want %d: %v", about, period, got, aside, all)
		}
		if got, _ := strconv.ParseInt(all[period+":images:used"], 10, 64); got != used {
			f.Errorf("%s: in %s %d are used, want %d", about, period, got, used)
		}
	}
	rows, err := f.redis.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}})
	sum := int64(0)
	for _, row := range rows {
		sum += row.Used[limit.Images]
	}
	if err != nil || sum != used {
		f.Errorf("%s: the ledger has %d, want %d: %v", about, sum, used, err)
	}
}

// estimated checks how many images of the ledger are estimated.
func (f *renewing) estimated(about string, want int64) {
	f.Helper()
	rows, err := f.redis.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}})
	sum := int64(0)
	for _, row := range rows {
		sum += row.Estimated[limit.Images]
	}
	if err != nil || sum != want {
		f.Errorf("%s: %d are estimated, want %d: %v", about, sum, want, err)
	}
}

// An allowance grows as far as requested, but neither it nor all of them together beyond a tenth of the amount left.
func TestAllowancesGrow(t *testing.T) {
	renewings(t, func(f *renewing) {
		if n := f.renews(f.renewal("a", 0, 40)); n != 40 {
			t.Errorf("it grew by %d, want 40", n)
		}
		f.wants("one", 40, 0)
		if n := f.renews(f.renewal("b", 0, 90)); n != 60 {
			t.Errorf("it grew by %d, want the rest of a tenth of 1,000", n)
		}
		half := f.renewal("a", 10, 90)
		half.Alive = 5
		if n := f.renews(half); n != 10 {
			t.Errorf("it grew by %d, want a fifth of a tenth in all", n)
		}
		f.wants("all", 80, 0)
		f.renews(f.renewal("a", 0, 0))
		f.renews(f.renewal("b", 0, 0))
		f.wants("given back", 0, 0)
		if fields := f.client.HKeys(f.Context(), "sl1:{search}:aside").Val(); len(fields) != 2 {
			t.Errorf("%v are left", fields)
		}
	})
}

// At a limit a request takes the missing part from its replica's allowance, and no more than it was lent.
func TestAtTheLimitTheOwnAllowanceIsTaken(t *testing.T) {
	renewings(t, func(f *renewing) {
		f.renews(f.renewal("a", 0, 10))
		f.renews(f.renewal("b", 0, 10))
		l := &Loan{Name: "a:20261121", Most: limit.Stock{limit.Images: 5}}
		ask := func(id string, images int64) versionedState {
			h := hold(id, f.team, limit.Amounts{limit.Requests: 1, limit.Images: images})
			h.Lease = time.Hour
			s, err := f.redis.admit(f.Context(), &h, l, f.redis.teams.Get("search").version())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := ask("most", 980); s.Outcome != limit.Admitted || s.took != (limit.Stock{}) {
			t.Errorf("there is room: %+v", s)
		}
		if s := ask("own", 4); s.Outcome != limit.Admitted || s.took != (limit.Stock{limit.Images: 4}) {
			t.Errorf("the missing part is taken: %+v", s)
		}
		f.wants("4 of 20", 16, 0)
		if s := ask("own", 4); s.Outcome != limit.Admitted || s.took != (limit.Stock{}) {
			t.Errorf("the same request again takes nothing: %+v", s)
		}
		if s := ask("too much", 6); s.Outcome != limit.Refused || s.took != (limit.Stock{}) {
			t.Errorf("5 are lent: %+v", s)
		}
		l.Name = "a:20261122"
		if s := ask("another day", 1); s.Outcome != limit.Refused {
			t.Errorf("it is of another day: %+v", s)
		}
		f.wants("at the limit", 16, 0)
	})
}

// A repeated renewal holds once, a repeated sum charges once, and a renewal that arrives behind a later one changes
// nothing.
func TestRenewalsAndSumsCountOnce(t *testing.T) {
	renewings(t, func(f *renewing) {
		sum := &limit.Charge{Amounts: limit.Amounts{limit.Images: 7},
			Held: &limit.Held{ID: "sum", Team: "search", Model: "llm-image", Endpoint: policy.EndpointImage, Day: 20261121, Month: 202611},
			Team: f.team, Sum: true}
		for n := range 2 {
			if done, err := f.redis.Settle(f.Context(), sum); done != (n == 0) || err != nil {
				t.Errorf("a sum is charged: %v %v", done, err)
			}
		}
		first := f.renewal("a", 10, 0)
		run := &limit.Held{ID: "runs", Team: "search", Model: "llm-image", Endpoint: policy.EndpointImage,
			Amounts: limit.Amounts{limit.Images: 3}, Day: 20261121, Month: 202611}
		first.Running = []Placing{{run, time.Hour}}
		f.renews(first)
		again := f.renewal("a", 9, 0)
		again.Running = first.Running
		f.renews(again)
		f.wants("renewed twice", 9, 7)
		if err := f.send(first); !errors.Is(err, errOvertaken) {
			t.Errorf("a late call: %v", err)
		}
		f.wants("and once more, late", 9, 7)
		if s := f.look(f.team); s.Held[2*limit.Images] != 3 {
			t.Errorf("%d are held, want 3", s.Held[2*limit.Images])
		}
		f.settle(run, f.team, limit.Amounts{limit.Images: 2}, false)
		f.renews(f.renewal("a", 0, 0))
		f.wants("settled", 0, 9)
	})
}

// The allowance of a replica that does not return is charged if Redis went away for all soon after its renewal; otherwise
// it stays set aside for an hour. The charge is taken back when the replica reports its true use.
func TestAllowancesLapse(t *testing.T) {
	for about, there := range map[string]bool{"Redis was there": true, "Redis was away": false} {
		t.Run(about, func(t *testing.T) {
			renewings(t, func(f *renewing) {
				f.renews(f.renewal("gone", 0, 20))
				renewed := f.clock.Micros()
				f.clock.Move(11 * time.Minute)
				var from, to int64
				f.redis.Peer = Peer{ID: "b", Gap: func() (int64, int64) { return from, to }}
				if !there {
					from, to = renewed, renewed+5_000_000 // the gap begins with the last renewals before it
				}
				f.sweep("search")
				if !there {
					f.wants("charged", 0, 20)
					f.estimated("charged", 20)
					f.renews(f.renewal("gone", 5, 0))
					f.wants("it comes back", 5, 0)
					f.estimated("it comes back", 0)
					return
				}
				f.wants("lapsed", 20, 0)
				f.clock.Move(time.Hour + time.Minute)
				f.sweep("search")
				f.wants("released", 0, 0)
			})
		})
	}
}

// A value of the wrong type is noticed before anything is changed.
func TestARenewalOfBrokenAccounts(t *testing.T) {
	renewings(t, func(f *renewing) {
		f.renews(f.renewal("a", 0, 10))
		f.client.Set(f.Context(), "sl1:{search}:use:20261121", "x", 0)
		r := f.renewal("a", 5, 0)
		run := &limit.Held{ID: "runs", Team: "search", Model: "llm-image", Endpoint: policy.EndpointImage,
			Amounts: limit.Amounts{limit.Images: 3}, Day: 20261121, Month: 202611}
		r.Running = []Placing{{run, time.Hour}}
		if err := f.send(r); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("it says %v", err)
		}
		f.client.Del(f.Context(), "sl1:{search}:use:20261121")
		f.wants("nothing was done", 10, 0)
	})
}

// A raise counts only in the period that runs by Redis's clock, whatever a process wants of the next one.
func TestAllowancesOfTheNextPeriodsHaveNoRaise(t *testing.T) {
	renewings(t, func(f *renewing) {
		raised := *f.team
		raised.Base, raised.Quotas = f.team.Quotas, limittest.Team(t, "quotas: {images: {day: 20000, month: 50000}}").Quotas
		f.team = &raised
		for _, tt := range []struct{ days, grown int64 }{{0, 2000}, {1, 100}, {30, 100}} {
			r := f.renewal("a", 0, 9000)
			r.Rows[0].Day = limit.CalendarOf(f.clock.Now().AddDate(0, 0, int(tt.days))).Day
			if got := f.renews(r); got != tt.grown {
				t.Errorf("%d days later it grows by %d, want %d", tt.days, got, tt.grown)
			}
		}
		f.team.Base[0].Limit, f.team.Base[1].Limit = 9000, 500
		r := f.renewal("b", 0, 9000)
		r.Rows[0].Day = limit.CalendarOf(f.clock.Now().AddDate(0, 0, 35)).Day
		if got := f.renews(r); got != 50 {
			t.Errorf("in the next month it grows by %d, want a tenth of that month's quota", got)
		}
	})
}
