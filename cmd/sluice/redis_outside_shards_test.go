package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cmd/sluice/settings"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// severed is a replica's way to a cluster: calls about one account fail without being sent, and once it is dead all do.
type severed struct {
	from  string // in the keys of the account
	on    atomic.Bool
	dead  atomic.Bool
	dying atomic.Bool // it is dead from the first call about the account on
}

var errSevered = errors.New("severed")

func (s *severed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *severed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if s.lost(cmd) {
			cmd.SetErr(errSevered)
			return errSevered
		}
		return next(ctx, cmd)
	}
}

func (s *severed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var sent []redis.Cmder
		dies := false
		for _, cmd := range cmds {
			if s.lost(cmd) {
				dies = s.dying.Load()
				cmd.SetErr(errSevered)
			} else {
				sent = append(sent, cmd)
			}
		}
		err := errSevered
		if len(sent) > 0 {
			err = next(ctx, sent)
		}
		if dies {
			s.dead.Store(true)
		}
		return err
	}
}

func (s *severed) lost(cmd redis.Cmder) bool {
	return s.dead.Load() || s.on.Load() && strings.Contains(fmt.Sprint(cmd.Args()...), s.from)
}

// apart is a team, an account at the service and the house that lie on three shards of a cluster.
type apart struct {
	*cluster
	*testing.T
	team, account, limited string // limited is whose quota is nearly used up
	most                   int64
	outsides               limit.Outsides
}

func newApart(t *testing.T) *apart {
	a := &apart{T: t, cluster: startCluster(t, 3, 0), team: "search", account: "east"}
	for n := 0; a.home(t, a.team) == a.home(t, teams.HouseID); n++ {
		a.team = fmt.Sprintf("search%d", n)
	}
	for n := 0; a.at(a.accountID()) == a.at(a.team) || a.at(a.accountID()) == a.at(teams.HouseID); n++ {
		a.account = fmt.Sprintf("east%d", n)
	}
	return a
}

func (a *apart) at(id string) *redisServer { return a.home(a.T, id) }
func (a *apart) accountID() string         { return teams.AccountQuotasID(a.account) }

// request is one that holds tokens in all three accounts.
func (a *apart) request(id string, tokens int64, lease time.Duration) *limit.Hold {
	quota := func(of string) int64 {
		if of == a.limited {
			return a.most
		}
		return 1_000_000
	}
	doc := fmt.Sprintf("house: {quotas: {tokens: {month: %d}}}\nteams:\n  - {id: %s, quotas: {tokens: {month: %d}}}\n", quota(teams.HouseID),
		a.team, quota(a.team))
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		a.Fatal(err)
	}
	account := &teams.Account{ID: a.account, Quotas: &teams.Team{ID: a.accountID(),
		Quotas: []teams.Quota{{Unit: unit.NameTokens, Period: teams.PeriodMonth, Limit: quota(a.accountID())}}}}
	return &limit.Hold{
		ID: id, Team: file.List[0], Account: a.account, Outside: a.outsides.For(file, account, "llm-max"), Model: "llm-max",
		Endpoint: policy.EndpointText, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: tokens}, Lease: lease,
	}
}

// used is what an account used and holds.
func (a *apart) usedOf(id string) (used, held int64) { return a.used(a.T, id, "tokens") }

// replica opens a replica that answers requests, and whose way to one account can be severed.
func (a *apart) replica(from string) (*ledgerkeeper, *severed) {
	// nothing is set aside: a refusal is by what is held and used
	exact := func(s *settings.Settings) { unhurried(s); s.OnStateLoss = "refuse" }
	k, s := openReplica(a.T, a.url, exact), &severed{from: "{" + from + "}"}
	k.redis.AddHook(s)
	k.eventually(patience, "connected", func() bool {
		k.n++
		v, err := k.Admit(context.Background(), a.request(fmt.Sprintf("%p-first%d", k, k.n), 1, time.Minute))
		if err != nil || v.Held == nil {
			return false
		}
		k.SettleLater(&limit.Charge{Held: v.Held, Team: k.team})
		return k.well()
	})
	k.eventually(patience, "nothing is held", func() bool { return a.holds() == 0 })
	return k, s
}

// holds is what all three hold.
func (a *apart) holds() (all int64) {
	for _, id := range []string{a.team, a.accountID(), teams.HouseID} {
		_, held := a.usedOf(id)
		all += held
	}
	return all
}

// A replica dies between two shards of a cluster: a request is charged in two of the accounts of its team, an account at the service and
// the house, and not in the third. There it is held, so that nothing passes, and then charged as held, once. If the replica was only cut
// off, its charge corrects that, once, and what it had held too much is free again.
func TestACrashBetweenTwoShards(t *testing.T) {
	t.Parallel()
	const requests, holds, uses = 5, 100, 40
	a := newApart(t)
	heir, _ := a.replica("")
	for _, cut := range []string{teams.HouseID, a.accountID(), a.team} {
		k, way := a.replica(cut)
		base := map[string]int64{}
		for _, id := range []string{a.team, a.accountID(), teams.HouseID} {
			base[id], _ = a.usedOf(id)
		}
		var held []*limit.Held
		hold := a.request("", holds, 2*time.Second)
		for n := range requests {
			hold.ID = fmt.Sprintf("%s-%d", cut, n)
			v, err := k.Admit(context.Background(), hold)
			if err != nil || v.Held == nil {
				t.Fatalf("%s: %+v, %v", cut, v, err)
			}
			held = append(held, v.Held)
		}
		way.on.Store(true)
		for _, h := range held {
			k.SettleLater(&limit.Charge{Held: h, Team: hold.Team, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: uses}})
		}
		a.limited, a.most = cut, base[cut]+requests*holds+holds/2
		refused := func(about string) {
			t.Helper()
			if v, err := heir.Admit(context.Background(), a.request(cut+about, holds, time.Minute)); err != nil || v.Held != nil ||
				v.Fault.Limit != a.most {
				t.Errorf("%s, %s: not refused by its quota: %+v, %v", cut, about, v, err)
			}
		}
		charged := func(about string, want int64) {
			t.Helper()
			heir.eventually(patience, about, func() bool {
				for id, was := range base {
					of := int64(requests * uses)
					if id == cut {
						of = want
					}
					if used, held := a.usedOf(id); used-was != of || held != 0 {
						return false
					}
				}
				return true
			})
		}
		refused("before the leases end")
		heir.eventually(patience, "the leases have ended", func() bool {
			_, _ = heir.Store.Sweep(context.Background(), cut, 100)
			_, held := a.usedOf(cut)
			return held == 0
		})
		charged(cut+" is charged as held, the others as used", requests*holds)
		refused("after the leases have ended")
		way.on.Store(false)
		charged(cut+" is charged as used, too", requests*uses)
		v, err := heir.Admit(context.Background(), a.request(cut+" at last", holds, time.Minute))
		if err != nil || v.Held == nil {
			t.Fatalf("%s: what was held too much is not free: %+v, %v", cut, v, err)
		}
		heir.SettleLater(&limit.Charge{Held: v.Held, Team: hold.Team})
		a.limited = ""
		way.dead.Store(true)
	}
}

// A replica dies while it admits a request: two of its accounts hold it, and the third never heard of it. The end of the lease charges the
// two as held, once, and the third not at all: the request never went out.
func TestACrashBetweenTwoShardsOfAnAdmission(t *testing.T) {
	t.Parallel()
	a := newApart(t)
	heir, _ := a.replica("")
	for _, cut := range []string{teams.HouseID, a.accountID(), a.team} {
		k, way := a.replica(cut)
		base := map[string]int64{}
		for _, id := range []string{a.team, a.accountID(), teams.HouseID} {
			base[id], _ = a.usedOf(id)
		}
		way.dying.Store(true)
		way.on.Store(true)
		if v, err := k.Admit(context.Background(), a.request(cut+" dies", 100, time.Second)); err == nil || v.Held != nil {
			t.Fatalf("%s: admitted without it: %+v, %v", cut, v, err)
		}
		for id, was := range base {
			if used, held := a.usedOf(id); (used-was+held == 100) != (id != cut) {
				t.Errorf("%s holds %d and used %d, without %s", id, held, used-was, cut)
			}
		}
		for id, was := range base {
			want := int64(100)
			if id == cut {
				want = 0
			}
			heir.eventually(patience, id+" is charged", func() bool {
				_, _ = heir.Store.Sweep(context.Background(), id, 100)
				used, held := a.usedOf(id)
				return used-was == want && held == 0
			})
		}
	}
}
