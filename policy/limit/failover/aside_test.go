package failover

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// setAsideAt makes another replica set aside an amount of the running day, and returns that replica.
func (s *harness) setAsideAt(replica string, team *teams.Team, of limit.Stock) *redisstore.Store {
	s.Helper()
	other := storeAt(s.client, s.clock)
	other.Peer = redisstore.Peer{ID: replica, Lease: bridgeDefault, Gap: func() (int64, int64) { return 0, 0 }}
	r := &redisstore.Renewal{Team: team, Call: 1, Alive: 1, Rows: []redisstore.RenewalRow{{Day: 20261121, Want: of}}}
	if err := other.Renew(s.Context(), []*redisstore.Renewal{r}); err != nil || r.Rows[0].Grown != of {
		s.Fatalf("%+v %v", r, err)
	}
	return other
}

// A replica dies with an allowance. Refusals of requests that do not fit beside it name what is set aside for it, and when to
// retry; then they fit.
func TestWhatALostReplicaHasSetAside(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team, four := limittest.Team(s, "quotas: {images: {day: 1000}}"), limit.Amounts{limit.Images: 4}
		first := s.must("first", team, limit.Amounts{limit.Images: 1})
		other := s.setAsideAt("dead", team, limit.Stock{limit.Images: 58})
		s.charge(first, team, limit.Amounts{limit.Images: 1})
		most := limit.Amounts{limit.Images: 941}
		s.charge(s.must("most", team, most), team, most)
		s.settled()
		refused := func(aside limit.Aside, wait time.Duration) {
			s.Helper()
			v, err := s.ask("refused", team, four)
			if err != nil || v.Held != nil || v.Reason != limit.ReasonQuota || v.Fault.Left != 58 || v.Aside != aside || v.Wait != wait {
				s.Errorf("%+v, %v; want %+v, and to wait %v", v, err, aside, wait)
			}
			if last := v.Limits[len(v.Limits)-1]; last.Reset != wait {
				s.Errorf("its header says %v, want %v", last.Reset, wait)
			}
		}
		refused(limit.Aside{}, 5*time.Second) // a live replica gives it back soon
		s.clock.Move(46 * time.Second)
		back := bridgeDefault + time.Hour + sweepEvery - 46*time.Second
		refused(limit.Aside{Amount: 58, Back: back}, back)
		for _, wait := range []time.Duration{bridgeDefault, back - bridgeDefault} {
			s.clock.Move(wait)
			if _, err := other.Sweep(s.Context(), "search", 1); err != nil {
				t.Fatal(err)
			}
			s.sweep("search")
		}
		s.must("then", team, four)
	})
}

// The same for open tasks: a running one may end earlier.
func TestOpenTasksThatALostReplicaHasSetAside(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "open_tasks: 10")
		ask := func(name string) limit.Verdict {
			h := hold(name, team, limit.Amounts{limit.Images: 1})
			h.Task, h.Lease = true, time.Hour
			v, err := s.Failover.Admit(s.Context(), &h)
			if err != nil {
				s.Fatal(err)
			}
			return v
		}
		s.must("first", team, limit.Amounts{limit.Requests: 1})
		s.setAsideAt("dead", team, limit.Stock{limit.StockTasks: 1})
		for n := range 9 {
			ask(id(n))
		}
		s.clock.Move(time.Minute)
		want := limit.Aside{Amount: 1, Back: bridgeDefault + time.Hour + sweepEvery - time.Minute}
		if v := ask("tenth"); v.Held != nil || v.Reason != limit.ReasonTasks || v.Aside != want || v.Wait != 5*time.Second {
			s.Errorf("%+v", v)
		}
	})
}
