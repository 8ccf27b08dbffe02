package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A refusal by the account takes nothing from the team's buckets.
func TestAccountRefusalTakesNothing(t *testing.T) {
	for _, f := range []*form{newMemoryForm(t), newRedisForm(t, limittest.RealRedis(t))} {
		team := limittest.Team(t, "rates: {requests: {per: 1m, limit: 10}}")
		acc := limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{
			{Rates: []teams.Rate{{Unit: unit.NameRequests, Limit: 1, Burst: 1, Per: time.Minute, PerText: "1m"}}}}}, "")
		for n := range 5 {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1})
			h.Outside, h.Lease = acc, time.Hour
			if _, err := f.verdict(t.Context(), &h); err != nil {
				t.Fatal(err)
			}
		}
		if s := f.look(team); s.Rates[limit.Requests].Left != 9 {
			t.Errorf("%s: %d left, want 9: account refusals took from the team's bucket", f.name, s.Rates[limit.Requests].Left)
		}
	}
}

// Sums that cannot be counted exactly stay numbers.
func TestHugeHolds(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	free := &teams.Team{ID: "search"}
	for n := range 12 {
		f.admit(hold(id(n), free, limit.Amounts{limit.Requests: 1, limit.Tokens: unit.Most}))
	}
	for n := range 12 {
		if _, err := f.trySettle(f.held(hold(id(n), free, limit.Amounts{limit.Requests: 1, limit.Tokens: unit.Most})), free,
			limit.Amounts{limit.Requests: 1, limit.Tokens: 5}, false); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// A task whose hold was lost is charged once, however late its end is reported again.
func TestATaskWhoseHoldIsLost(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	f := newRedisForm(t, client)
	team := limittest.Team(t)
	h := f.held(limit.Hold{ID: "t", Team: team, Model: "m", Endpoint: policy.EndpointImage,
		Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 4}, Task: true})
	c := &limit.Charge{Held: h, Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 4}}
	_, _ = f.redis.Settle(context.Background(), c)
	server.FastForward(16 * time.Minute)
	_, _ = f.redis.Settle(context.Background(), c)
	if s := f.look(team); s.Used[2*limit.Images] != 4 {
		t.Errorf("%d images", s.Used[2*limit.Images])
	}
}

// What a process charged before the team had accounts is in the accounts that another created meanwhile. It restores none of that.
func TestARestoreAddsNothingChargedBeforeThereWereAccounts(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(t)
	used := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
	h := f.held(limit.Hold{ID: "early", Team: team, Model: "m", Endpoint: policy.EndpointText, Amounts: used})
	if _, err := f.redis.Settle(t.Context(), &limit.Charge{Held: h, Team: team, Amounts: used}); err != nil {
		t.Fatal(err)
	}
	other := New(f.client)
	other.Clock, other.Now = f.clock.Micros, f.clock.Wrong
	for _, r := range []*Store{other, f.redis} {
		if err := r.Restore(t.Context(), team.ID, Loss{}); err != nil {
			t.Fatal(err)
		}
	}
	if s := f.look(team); s.Used[2*limit.Tokens] != 10 {
		t.Errorf("%d tokens were used, want 10", s.Used[2*limit.Tokens])
	}
}

// Redis is back with an older copy, in which the lease of a request has ended that was extended, or settled, since. Whatever comes before
// or while the replicas restore the team's accounts, its use counts once.
func TestNothingIsSweptBeforeTheTeamIsRestored(t *testing.T) {
	client := limittest.RealRedis(t)
	team := limittest.Team(t, "quotas: {tokens: {day: 1000}}")
	place := func(r *Store, id string, lease time.Duration) (*limit.Held, error) {
		h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 100})
		h.Lease = lease
		v, _, err := r.Place(t.Context(), &h, &Loan{})
		return v.Held, err
	}
	for about, call := range map[string]func(r *Store) error{
		"an admission": func(r *Store) error {
			if _, err := place(r, "meanwhile", time.Hour); !NotDone(err) {
				return errors.Join(errors.New("it was admitted"), err)
			}
			return nil
		},
		"a look":  func(r *Store) error { _, err := r.Look(t.Context(), team); return err },
		"a sweep": func(r *Store) error { _, err := r.Sweep(t.Context(), team.ID, 100); return err },
	} {
		for _, settled := range []bool{false, true} { // whether the long request ended before the loss
			for _, restoring := range []bool{false, true} { // whether the call comes after the first replica has restored
				t.Run(fmt.Sprintf("%s,settled=%v,restoring=%v", about, settled, restoring), func(t *testing.T) {
					if err := client.FlushDB(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					clock := limittest.NewClock()
					var replicas [2]*Store
					for i := range replicas {
						replicas[i] = New(client)
						replicas[i].Clock, replicas[i].Now = clock.Micros, clock.Now
						replicas[i].Peer = Peer{ID: strings.Repeat(string(rune('a'+i)), 12), Alive: func() int64 { return 2 }}
					}
					other, own := replicas[0], replicas[1]
					must := func(err error) {
						t.Helper()
						if err != nil {
							t.Fatal(err)
						}
					}
					settle := func(h *limit.Held) {
						t.Helper()
						done, err := own.Settle(t.Context(), &limit.Charge{Held: h, Team: team, Amounts: h.Amounts})
						if !done || err != nil {
							t.Fatal(done, err)
						}
					}
					long, err := place(own, "long", 11*time.Minute)
					must(err)
					back := limittest.Copy(t, client)
					clock.Move(10 * time.Minute)
					must(own.Extend(t.Context(), long, 11*time.Minute))
					clock.Move(2 * time.Minute)
					short, err := place(own, "short", time.Minute)
					must(err)
					settle(short)
					if settled {
						settle(long)
					}
					_, err = other.Look(t.Context(), team)
					must(err)
					back()
					if restoring {
						must(other.Restore(t.Context(), team.ID, Loss{Recent: true}))
					}
					must(call(other))
					must(other.Restore(t.Context(), team.ID, Loss{Recent: true}))
					must(own.Restore(t.Context(), team.ID, Loss{Recent: true}))
					clock.Move(3 * time.Second)
					_, err = other.Sweep(t.Context(), team.ID, 100)
					must(err)
					if !settled {
						settle(long)
					}
					s, err := other.Look(t.Context(), team)
					must(err)
					if s.Used[2*limit.Tokens] != 200 || s.Held[2*limit.Tokens] != 0 {
						t.Errorf("%d tokens are used and %d held, want 200 and 0", s.Used[2*limit.Tokens], s.Held[2*limit.Tokens])
					}
				})
			}
		}
	}
}

// Redis is back with an older copy, in which a running task has the lease and the account that it had before it was created. It stays open
// until its own lease ends, and is then charged on its own account.
func TestARestoredTaskHasItsLeaseAndAccount(t *testing.T) {
	client, clock := limittest.RealRedis(t), limittest.NewClock()
	team := limittest.Team(t, "open_tasks: 1", "quotas: {images: {day: 10}}")
	var replicas [2]*Store
	for i := range replicas {
		replicas[i] = New(client)
		replicas[i].Clock, replicas[i].Now = clock.Micros, clock.Now
		replicas[i].Peer = Peer{ID: strings.Repeat(string(rune('a'+i)), 12), Alive: func() int64 { return 2 }}
	}
	other, own := replicas[0], replicas[1]
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	place := func(r *Store, id string) *limit.Held {
		h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		h.Task, h.Lease = true, 11*time.Minute
		v, _, err := r.Place(t.Context(), &h, &Loan{})
		must(err)
		return v.Held
	}
	sweep := func(about string, used, held, tasks int64) {
		t.Helper()
		for _, r := range replicas {
			_, err := r.Sweep(t.Context(), team.ID, 100)
			must(err)
			must(r.CheckOwn(t.Context(), team.ID))
		}
		s, err := other.Look(t.Context(), team)
		must(err)
		if s.Used[2*limit.Images] != used || s.Held[2*limit.Images] != held || s.Tasks != tasks ||
			len(own.teams.Get(team.ID).ids()) != int(tasks) {
			t.Errorf("%s: %d images are used, %d held by %d open tasks, the owner knows %v; want %d, %d and %d", about, s.Used[2*limit.Images],
				s.Held[2*limit.Images], s.Tasks, own.teams.Get(team.ID).ids(), used, held, tasks)
		}
	}
	held := place(own, "task")
	_, err := other.Look(t.Context(), team)
	must(err)
	back := limittest.Copy(t, client)
	moved := *held
	moved.Account = "eu"
	must(own.Extend(t.Context(), &moved, 25*time.Hour))
	_, err = other.Look(t.Context(), team)
	must(err)
	back()
	for _, r := range replicas {
		must(r.Restore(t.Context(), team.ID, Loss{Recent: true}))
	}
	clock.Move(12 * time.Minute)
	sweep("12 minutes on", 0, 4, 1)
	if place(other, "second") != nil {
		t.Error("a second task is admitted beside the first")
	}
	clock.Move(25 * time.Hour)
	sweep("after the lease, on the next day", 0, 0, 0)
	rows, err := other.Rows(t.Context(), limit.Query{Teams: []string{team.ID}, Days: []int{held.Day}})
	if must(err); len(rows) != 1 || rows[0].Account != "eu" || rows[0].Used[limit.Images] != 4 {
		t.Errorf("%+v; want 4 images on account eu", rows)
	}
}
