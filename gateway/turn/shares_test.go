package turn_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/turn"
)

// member is a team with endless demand.
type member struct {
	id    string
	share float64
	cost  float64 // of each request
}

// demand has twenty requests of each team wait at any time.
func (h *house) demand(ctx context.Context, teams ...member) {
	for _, m := range teams {
		for range 20 {
			go func() {
				for ctx.Err() == nil {
					_, _ = h.pass(ctx, request(m.id, m.share, time.Hour, m.cost), m.id)
				}
			}()
		}
	}
}

// Three teams of shares 1, 1 and 2 with endless demand get 25, 25 and 50 % of the account's rate in a minute, whatever their requests
// cost; a late fourth is served after one turn of each other at most.
func TestTeamsTakeTurnsByTheirShares(t *testing.T) {
	for _, teams := range [][]member{
		{{"a", 1, 1}, {"b", 1, 1}, {"c", 2, 1}},
		{{"a", 1, 4}, {"b", 1, 1}, {"c", 2, 2}},
		{{"a", 1, 1}, {"b", 1, 3}, {"c", 2, 10}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(20, 10)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			h.demand(ctx, teams...)
			time.Sleep(time.Minute)
			synctest.Wait()
			served := h.list()
			sum := 0.0
			for _, m := range teams {
				sum += m.cost * float64(count(served, m.id))
			}
			for _, m := range teams {
				if part := 100 * m.cost * float64(count(served, m.id)) / sum; part < 25*m.share-2 || part > 25*m.share+2 {
					t.Errorf("%v: team %s has %.1f %%", teams, m.id, part)
				}
			}
			if sum < 1190 || sum > 1210 {
				t.Errorf("%v of the account's 1,200 a minute were used", sum)
			}
			h.demand(ctx, member{"late", 1, 1})
			time.Sleep(3 * time.Second)
			synctest.Wait()
			after := h.list()[len(served):]
			first := slices.Index(after, "late")
			for _, m := range teams {
				if n := count(after[:max(first, 0)], m.id); first < 0 || n > 1 {
					t.Errorf("%v: the late team is served after %d of team %s: %v", teams, n, m.id, after)
				}
			}
		})
	}
}

func count(list []string, of string) (n int) {
	for _, s := range list {
		if s == of {
			n++
		}
	}
	return n
}

// An idle team's share goes to the others, and a team alone gets everything.
func TestATeamAloneGetsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(10, 1)
		var all sync.WaitGroup
		begun := time.Now()
		for range 100 {
			all.Go(func() {
				if _, err := h.pass(t.Context(), request("a", 1, time.Minute, 1), "a"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took < 9900*time.Millisecond || took > 10*time.Second {
			t.Errorf("99 requests at 10 a second took %v", took)
		}
	})
}

// A request is told how long it would take with those before it: while its team gets so much, each other team gets as much by its share as
// it waits for.
func TestTheEstimateIsWhatComes(t *testing.T) {
	for _, tt := range []struct {
		waiting []member
		comes   member
	}{
		{nil, member{"a", 1, 1}},
		{[]member{{"a", 1, 1}, {"a", 1, 1}, {"a", 1, 1}}, member{"a", 1, 1}},
		{[]member{{"a", 1, 1}, {"a", 1, 1}, {"b", 1, 1}}, member{"b", 1, 1}},
		{[]member{{"a", 1, 1}, {"a", 1, 1}, {"a", 1, 1}, {"a", 1, 1}}, member{"b", 1, 1}},
		{[]member{{"a", 2, 1}, {"a", 2, 1}, {"b", 1, 1}, {"a", 2, 1}}, member{"b", 1, 1}},
		{[]member{{"a", 1, 5}, {"b", 1, 1}}, member{"a", 1, 5}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(1, 5)
			_, _ = h.pass(t.Context(), request("x", 1, 0, 5), "x")
			var all sync.WaitGroup
			for _, m := range tt.waiting {
				all.Go(func() { _, _ = h.pass(t.Context(), request(m.id, m.share, time.Minute, m.cost), m.id) })
				synctest.Wait()
			}
			out, _ := h.pass(t.Context(), request(tt.comes.id, tt.comes.share, 0, tt.comes.cost), "refused")
			var took time.Duration
			all.Go(func() {
				waited, err := h.pass(t.Context(), request(tt.comes.id, tt.comes.share, time.Minute, tt.comes.cost), "comes")
				if took = waited.Waited; err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if off := out.Wait - took; off < -1001*time.Millisecond || off > 1001*time.Millisecond {
				t.Errorf("%v before %v: %v were said, it took %v", tt.waiting, tt.comes, out.Wait, took)
			}
		})
	}
}

// Whatever comes, leaves and is scarce: requests of a team go in order, none waits beyond its wait, none is served at once while another of
// its team waits, and nothing stays behind.
func TestTurnsAtRandom(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			h := newHouse(float64(1+random.IntN(50)), 3+random.IntN(5))
			for _, team := range []string{"a", "b"} {
				h.teams[team] = rate.NewLimiter(rate.Limit(1+random.IntN(20)), 3+random.IntN(5))
			}
			var all sync.WaitGroup
			var order sync.Mutex
			went := map[string][]int{}
			for n := range 100 {
				team := []string{"a", "b", "c"}[random.IntN(3)]
				wait := time.Duration(random.IntN(3000)) * time.Millisecond
				cost := float64(1 + random.IntN(3))
				ctx, leave := t.Context(), context.CancelFunc(func() {})
				if random.IntN(5) == 0 {
					ctx, leave = context.WithTimeout(ctx, time.Duration(random.IntN(2000))*time.Millisecond)
				}
				all.Go(func() {
					defer leave()
					begun := time.Now()
					r := request(team, float64(1+n%2), wait, cost)
					try := h.try(r, team)
					out, err := h.Pass(ctx, r, func(awaited turn.Awaited) turn.Answer {
						a := try(awaited)
						if a.Passed {
							order.Lock()
							went[team] = append(went[team], n)
							order.Unlock()
						}
						return a
					})
					if took := time.Since(begun); took > wait || took != out.Waited {
						t.Errorf("seed %d: %v of %v waited, %v were said: %v", seed, took, wait, out.Waited, err)
					}
				})
				synctest.Wait()
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			}
			all.Wait()
			for team, numbers := range went {
				if !slices.IsSorted(numbers) {
					t.Errorf("seed %d: team %s went in the order %v", seed, team, numbers)
				}
				if n := h.Waiting(team); n != 0 || !h.Idle() {
					t.Errorf("seed %d: %d of %s wait for ever", seed, n, team)
				}
			}
		})
	}
}
