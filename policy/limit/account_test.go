package limit

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

// awayScript is a Redis that is away for one script alone, as in a cluster where the node with the account's keys is.
type awayScript struct {
	digest any
	on     atomic.Bool
}

func (f *awayScript) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *awayScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); f.on.Load() && len(args) > 1 && args[1] == f.digest {
			cmd.SetErr(ErrAway)
			return ErrAway
		}
		return next(ctx, cmd)
	}
}

func (f *awayScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// accountTeam is a team of one quota, and the account's limits for a model.
func accountTeam(t *testing.T) (*policy.Team, []policy.AccountLimit) {
	teams, err := policy.ParseTeams([]byte("account:\n  - {models: [\"llm-*\"], requests: {per: 1s, limit: 1000}}\nteams:\n  - id: search\n    quotas: {tokens: {day: 1000}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return teams.List[0], AccountFor(teams.Account, "llm-max")
}

// F-K2: the node with the account's rates is away, the team's is well. What was admitted is charged once, what was
// refused not at all.
func TestFK2TheAccountsNodeIsAway(t *testing.T) {
	for name, refuse := range map[string]bool{"local": false, "refuse": true} {
		t.Run(name, func(t *testing.T) {
			shareds(t, func(c *SharedConfig) { c.Refuse = refuse }, func(s *shared) {
				gone := &awayScript{digest: accountScript.digest}
				s.client.AddHook(gone)
				team, account := accountTeam(t)
				want := int64(0)
				ask := func(n int, tokens int64) {
					h := hold(id(n), team, Amounts{Requests: 1, Tokens: tokens})
					h.Account, h.Lease = account, time.Hour
					if v, err := s.Shared.Admit(s.Context(), &h); err == nil && v.Held != nil {
						want += 7
						s.charge(v.Held, team, Amounts{Requests: 1, Tokens: 7})
					}
				}
				ask(0, 10)
				s.settled()
				gone.on.Store(true)
				for n := range 8 {
					ask(1+n, []int64{100, 995}[n%2]) // the second is more than is left
					s.settled()
					_ = s.Tend(s.Context())
				}
				gone.on.Store(false)
				s.back()
				s.settled()
				s.clock.move(2 * time.Hour)
				s.sweep("search")
				if st := s.look(team); st.used[2*Tokens] != want || st.held[2*Tokens] != 0 {
					t.Errorf("%d tokens used, %d held; want %d, 0", st.used[2*Tokens], st.held[2*Tokens], want)
				}
			})
		})
	}
}
