package failover

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// awayScript is a Redis that is away only for one script, as in a cluster where the node with the account's keys is.
type awayScript struct {
	on  atomic.Bool
	met atomic.Int64 // calls that did not reach it
}

// ofAccount reports whether a call is about the account's rates.
func ofAccount(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "sl1:account:")
}

func (f *awayScript) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *awayScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.on.Load() && ofAccount(cmd) {
			f.met.Add(1)
			cmd.SetErr(limit.ErrAway)
			return limit.ErrAway
		}
		return next(ctx, cmd)
	}
}

func (f *awayScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// accountTeam is a team of one quota, and the account's limits for a model.
func accountTeam(t *testing.T) (*teams.Team, []limit.Scope) {
	file, err := teams.Parse([]byte("account:\n  - {models: [\"llm-*\"], requests: {per: 1s, limit: 1000}}\nteams:\n  - id: search\n    " +
		"quotas: {tokens: {day: 1000}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return file.List[0], limit.OutsideFor(&teams.File{Account: file.Account}, "llm-max")
}

// The node with the account's rates is away, the team's is well. An admitted request is charged once, a refused one
// not at all.
func TestTheAccountsNodeIsAway(t *testing.T) {
	for name, refuse := range map[string]bool{"local": false, "refuse": true} {
		t.Run(name, func(t *testing.T) {
			harnesses(t, func(c *Config) { c.Refuse = refuse }, func(s *harness) {
				gone := &awayScript{}
				s.client.AddHook(gone)
				team, account := accountTeam(t)
				want := int64(0)
				ask := func(n int, tokens int64) {
					h := hold(id(n), team, limit.Amounts{limit.Requests: 1, limit.Tokens: tokens})
					h.Outside, h.Lease = account, time.Hour
					if v, err := s.Failover.Admit(s.Context(), &h); err == nil && v.Held != nil {
						want += 7
						s.charge(v.Held, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 7})
					}
				}
				ask(0, 10)
				s.settled()
				gone.on.Store(true)
				for n := range 8 {
					ask(1+n, []int64{100, 995}[n%2]) // the second is more than is left
					s.settled()
					_ = s.Maintain(s.Context())
				}
				gone.on.Store(false)
				if gone.met.Load() == 0 {
					t.Error("the account's node was not away")
				}
				s.back()
				s.settled()
				s.clock.Move(2 * time.Hour)
				s.sweep("search")
				if st := s.look(team); st.Used[2*limit.Tokens] != want || st.Held[2*limit.Tokens] != 0 {
					t.Errorf("%d tokens used, %d held; want %d, 0", st.Used[2*limit.Tokens], st.Held[2*limit.Tokens], want)
				}
			})
		})
	}
}

// The account's node is away while requests are settled: their charges are taken, Redis does not count as away, and the
// team's buckets are corrected.
func TestCorrectionsOfTheAccountFail(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		gone := &awayScript{}
		s.client.AddHook(gone)
		team, account := accountTeam(t)
		told := make([]took, 5)
		for n := range told {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
			h.Outside, h.Lease = account, time.Hour
			v, err := s.Failover.Admit(s.Context(), &h)
			if err != nil || v.Held == nil {
				t.Fatal(v, err)
			}
			gone.on.Store(true)
			if n == 0 {
				if done, err := s.Settle(s.Context(), told[n].charge(v.Held, team, limit.Amounts{})); !done || err != nil {
					t.Errorf("settled %v, %v", done, err)
				}
			} else {
				s.SettleLater(told[n].charge(v.Held, team, limit.Amounts{}))
			}
			s.settled()
			gone.on.Store(false)
			if gone.met.Load() != int64(n+1) {
				t.Errorf("%d corrections failed, want %d", gone.met.Load(), n+1)
			}
		}
		if s.Degraded() || s.queue.waiting() > 0 {
			t.Errorf("%v, %d wait", s.State(), s.queue.waiting())
		}
		for n := range told {
			told[n].wants(t, id(n), took{first: 1})
		}
	})
}

// The corrections of several charges are given back to the account in one call.
func TestCorrectionsOfTheAccountAreOneCall(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	var calls atomic.Int64
	s.client.AddHook(before(func(_ context.Context, cmds ...redis.Cmder) {
		if ofAccount(cmds[0]) {
			calls.Add(1)
		}
	}))
	team := &teams.Team{ID: "search"}
	account := limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{
		{Rates: []teams.Rate{{Unit: unit.NameImages, Limit: 12, Burst: 12, Per: time.Hour, PerText: "1h"}}}}}, "")
	ask := func(id string, images int64) *limit.Held {
		h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Images: images})
		h.Outside, h.Lease = account, time.Hour
		v, err := s.Failover.Admit(s.Context(), &h)
		if err != nil {
			t.Fatal(v, err)
		}
		return v.Held
	}
	charges := make([]*limit.Charge, 3)
	for n := range charges {
		charges[n] = &limit.Charge{Held: ask(id(n), 4), Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Images: int64(n)}}
	}
	calls.Store(0)
	for n, came := range s.Store.SettleAll(s.Context(), charges, true) {
		if !came.Done || came.Err != nil {
			t.Errorf("%d: %+v", n, came)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
	if ask("ten", 10) != nil || ask("nine", 9) == nil {
		t.Error("9 of 12 were given back")
	}
}
