package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/turn"
	"sluice/policy/limit"
)

// house has an account with a rate, and teams that may have rates of their own.
type house struct {
	*turn.Queue

	account *rate.Limiter
	teams   map[string]*rate.Limiter

	mu     sync.Mutex
	served []string
}

var account = turn.Resource{Scope: limit.ScopeAccount, Unit: "requests"}

func ofTeam(team string) turn.Resource {
	return turn.Resource{Scope: limit.ScopeTeam, Name: team, Unit: "requests"}
}

func newHouse(perSecond float64, burst int) *house {
	return &house{Queue: turn.New(), account: rate.NewLimiter(rate.Limit(perSecond), burst), teams: map[string]*rate.Limiter{}}
}

// request is one of a team that costs so much.
func request(team string, share float64, wait time.Duration, cost float64) *turn.Request {
	return &turn.Request{Team: team, Share: share, Wait: wait, Depth: 1000,
		Needs: []turn.Need{{Resource: ofTeam(team), Cost: cost}, {Resource: account, Cost: cost}}}
}

// take takes from a bucket, or says when that would be possible.
func take(from *rate.Limiter, n int) time.Duration {
	now := time.Now()
	taken := from.ReserveN(now, n)
	d := taken.DelayFrom(now)
	if d > 0 {
		taken.CancelAt(now)
	}
	return d
}

// tries is a Try of a request that has no ways.
func tries(try func() (bool, *turn.Refusal)) turn.Try {
	return func(turn.Awaited) turn.Answer {
		passed, refused := try()
		if refused == nil {
			return turn.Answer{Passed: passed}
		}
		return turn.Answer{Refused: []turn.Refusal{*refused}}
	}
}

// try takes from both buckets or from none.
func (h *house) try(r *turn.Request, name string) turn.Try {
	return tries(func() (bool, *turn.Refusal) {
		h.mu.Lock()
		defer h.mu.Unlock()
		n := int(r.Needs[0].Cost)
		own := h.teams[r.Team]
		if own != nil {
			if d := take(own, n); d > 0 {
				return false, &turn.Refusal{Resource: ofTeam(r.Team), Wait: d, Rate: float64(own.Limit())}
			}
		}
		if d := take(h.account, n); d > 0 {
			if own != nil {
				own.ReserveN(time.Now(), -n)
			}
			return false, &turn.Refusal{Resource: account, Wait: d, Rate: float64(h.account.Limit())}
		}
		h.served = append(h.served, name)
		return true, nil
	})
}

func (h *house) pass(ctx context.Context, r *turn.Request, name string) (turn.Outcome, error) {
	return h.Pass(ctx, r, h.try(r, name))
}

func (h *house) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.served)
}

// refused expects a refusal with this error, resource and wait.
func refused(t *testing.T, got turn.Outcome, err, want error, by turn.Resource, wait time.Duration) {
	t.Helper()
	if !errors.Is(err, want) || got.Resource != by || got.Wait != wait {
		t.Errorf("%+v %v, want %v by %v for %v", got, err, want, by, wait)
	}
}

// Without waiting requests each goes at once; one that does not fit and does not wait is refused as its try says.
func TestNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 2)
		for range 2 {
			if _, err := h.pass(t.Context(), request("a", 1, 0, 1), "a"); err != nil {
				t.Error(err)
			}
		}
		out, err := h.pass(t.Context(), request("a", 1, 0, 1), "a")
		refused(t, out, err, turn.ErrLate, account, time.Second)
		out, err = h.pass(t.Context(), request("a", 1, 999*time.Millisecond, 1), "a")
		refused(t, out, err, turn.ErrLate, account, time.Second)
		if out, err = h.pass(t.Context(), request("a", 1, time.Second, 1), "a"); err != nil || out.Waited != time.Second || !h.Idle() {
			t.Errorf("a wait that is just long enough: %+v %v", out, err)
		}
	})
}

// Requests of a team go in the order in which they came, and none that does not wait overtakes them.
func TestATeamGoesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1000, 1000)
		h.teams["a"] = rate.NewLimiter(1, 1)
		var all sync.WaitGroup
		for n := range 5 {
			all.Go(func() {
				if out, err := h.pass(t.Context(), request("a", 1, time.Minute, 1), fmt.Sprint(n)); err != nil ||
					out.Waited != time.Duration(n)*time.Second {
					t.Errorf("%d: %+v %v", n, out, err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(2500 * time.Millisecond)
		out, err := h.pass(t.Context(), request("a", 1, 0, 1), "late")
		refused(t, out, err, turn.ErrLate, ofTeam("a"), 2500*time.Millisecond) // two wait, half a second is left of the first's
		if out.Ahead != 2 {
			t.Errorf("%d wait before it", out.Ahead)
		}
		if _, err := h.pass(t.Context(), request("b", 1, 0, 1), "b"); err != nil {
			t.Errorf("another team does not wait for it: %v", err)
		}
		all.Wait()
		if want := []string{"0", "1", "2", "b", "3", "4"}; !slices.Equal(h.served, want) {
			t.Errorf("%v", h.served)
		}
	})
}

// A request that needs nothing of what others of its team wait for is not kept by them.
func TestWhatIsNotScarceGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 1)
		go func() { _, _ = h.pass(t.Context(), request("a", 1, time.Minute, 1), "a") }()
		synctest.Wait()
		go func() { _, _ = h.pass(t.Context(), request("a", 1, time.Minute, 1), "a") }()
		synctest.Wait()
		other := &turn.Request{Team: "a", Share: 1, Needs: []turn.Need{{Resource: ofTeam("a"), Cost: 1}}}
		if _, err := h.Pass(t.Context(), other, tries(func() (bool, *turn.Refusal) { return true, nil })); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}

func TestOnlySoManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 1)
		ctx, leave := context.WithCancel(t.Context())
		ask := func(ctx context.Context) (turn.Outcome, error) {
			r := request("a", 1, time.Minute, 1)
			r.Depth = 3
			return h.pass(ctx, r, "a")
		}
		for range 4 {
			go func() {
				if _, err := ask(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		out, err := ask(t.Context())
		refused(t, out, err, turn.ErrFull, account, 4*time.Second)
		if n := h.Waiting("a"); n != 3 {
			t.Errorf("%d wait", n)
		}
		if _, err := h.pass(ctx, request("b", 1, time.Second, 1), "b"); !errors.Is(err, turn.ErrLate) {
			t.Errorf("the depth is each team's own: %v", err)
		}
		leave()
		synctest.Wait()
		if n := h.Waiting("a"); n != 0 || !h.Idle() {
			t.Errorf("%d wait, but their clients have left", n)
		}
		time.Sleep(time.Second)
		if _, err := h.pass(t.Context(), request("a", 1, 0, 1), "a"); err != nil {
			t.Errorf("none is left to wait for: %v", err)
		}
	})
}

// The one that a request waits for leaves: it takes its place at once.
func TestALeavingClientFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 10)
		_, _ = h.pass(t.Context(), request("a", 1, 0, 10), "all")
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = h.pass(ctx, request("a", 1, time.Minute, 10), "large") }()
		synctest.Wait()
		done := make(chan turn.Outcome)
		go func() {
			out, err := h.pass(t.Context(), request("a", 1, time.Minute, 1), "small")
			if err != nil {
				t.Error(err)
			}
			done <- out
		}()
		time.Sleep(5 * time.Second)
		leave()
		if out := <-done; out.Waited != 5*time.Second {
			t.Errorf("it waited %v", out.Waited)
		}
	})
}

// After a stop nothing waits, and what would have to is refused as what waits.
func TestAStopEndsEveryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 1)
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := h.pass(t.Context(), request("a", 1, time.Minute, 1), "a")
				errs <- err
			}()
			synctest.Wait()
		}
		if err := <-errs; err != nil {
			t.Error(err)
		}
		h.Stop()
		h.Stop()
		for range 2 {
			if err := <-errs; !errors.Is(err, turn.ErrStopped) {
				t.Error(err)
			}
		}
		if _, err := h.pass(t.Context(), request("a", 1, time.Minute, 1), "a"); !errors.Is(err, turn.ErrStopped) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if _, err := h.pass(t.Context(), request("a", 1, time.Minute, 1), "a"); err != nil {
			t.Errorf("what fits does not wait: %v", err)
		}
	})
}

// A team that waits for its own rate does not keep the others from the account.
func TestATeamsOwnRateKeepsNoOtherTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(10, 1)
		h.teams["slow"] = rate.NewLimiter(rate.Every(time.Minute), 1)
		var all sync.WaitGroup
		for n := range 40 {
			team := []string{"slow", "fast"}[n%2]
			all.Go(func() { _, _ = h.pass(t.Context(), request(team, 1, 30*time.Second, 1), team) })
		}
		begun := time.Now()
		all.Wait()
		if n := len(h.served); n != 21 || time.Since(begun) > 31*time.Second {
			t.Errorf("%d were served in %v", n, time.Since(begun))
		}
	})
}

// Room that comes back early is taken at once.
func TestWhatIsFreedIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, busy := turn.New(), true
		done := make(chan error)
		r := request("a", 1, time.Minute, 1)
		go func() {
			_, err := q.Pass(t.Context(), r, tries(func() (bool, *turn.Refusal) {
				if busy {
					return false, &turn.Refusal{Resource: ofTeam("a"), Wait: 30 * time.Second}
				}
				return true, nil
			}))
			done <- err
		}()
		synctest.Wait()
		if q.Awaited(account) || !q.Awaited(ofTeam("a")) {
			t.Error("it waits for its team, not for the account")
		}
		begun := time.Now()
		busy = false
		q.Freed(account)
		q.Freed(ofTeam("a"))
		if err := <-done; err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// While a team waits for the account, no request of another team that does not wait is tried.
func TestNoneOvertakesAtTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 1)
		_, _ = h.pass(t.Context(), request("a", 1, 0, 1), "a")
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = h.pass(t.Context(), request("a", 1, time.Minute, 1), "a")
		}()
		synctest.Wait()
		out, err := h.Pass(t.Context(), request("b", 1, 0, 1), tries(func() (bool, *turn.Refusal) {
			t.Error("it was tried")
			return true, nil
		}))
		refused(t, out, err, turn.ErrLate, account, 2*time.Second)
		<-done
	})
}

// A request whose team has room again takes its turn at the account, where another has waited for more than it needs.
func TestATurnOfItsTeamIsNoTurnAtTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 10)
		h.teams["a"] = rate.NewLimiter(0.5, 1)
		_, _ = h.pass(t.Context(), request("a", 1, 0, 1), "first")
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() { _, _ = h.pass(t.Context(), request("a", 1, time.Minute, 1), fmt.Sprint(n)) }) // waits for its team
			synctest.Wait()
		}
		_, _ = h.pass(t.Context(), request("b", 1, 0, 9), "rest")
		all.Go(func() { _, _ = h.pass(t.Context(), request("b", 1, time.Minute, 10), "large") })
		all.Wait()
		if want := []string{"first", "rest", "large", "0", "1", "2"}; !slices.Equal(h.served, want) {
			t.Errorf("%v", h.served)
		}
	})
}

// What is freed while a request tries is no turn at what refuses it instead.
func TestWhatIsFreedDuringATryIsNoTurnElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, tried := newHouse(1, 1), atomic.Int64{}
		_, _ = h.pass(t.Context(), request("a", 1, 0, 1), "a")
		var all sync.WaitGroup
		all.Go(func() { _, _ = h.pass(t.Context(), request("a", 1, time.Minute, 1), "a") })
		synctest.Wait()
		all.Go(func() {
			r := request("b", 1, time.Minute, 1)
			r.Needs = r.Needs[:1] // what it needs of the account is not known before
			_, _ = h.Pass(t.Context(), r, tries(func() (bool, *turn.Refusal) {
				switch tried.Add(1) {
				case 1:
					return false, &turn.Refusal{Resource: ofTeam("b"), Wait: 100 * time.Millisecond}
				case 2:
					h.Freed(ofTeam("b"))
					return false, &turn.Refusal{Resource: account, Wait: 10 * time.Millisecond}
				}
				return true, nil
			}))
		})
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if n := tried.Load(); n != 2 {
			t.Errorf("%d tries, the second is the last before its turn", n)
		}
		all.Wait()
		if n := tried.Load(); n != 3 {
			t.Errorf("%d tries", n)
		}
	})
}

// A request that comes back from the account to wait for its team goes before one that came later, even if that has its turn already.
func TestWhatComesBackGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(1, 1)
		h.teams["a"] = rate.NewLimiter(1, 4)
		_, _ = h.pass(t.Context(), request("a", 1, 0, 1), "first")
		var all sync.WaitGroup
		all.Go(func() { _, _ = h.pass(t.Context(), request("a", 1, time.Minute, 1), "older") }) // waits for the account, for a second
		synctest.Wait()
		younger := request("a", 1, time.Minute, 4)
		younger.Needs = younger.Needs[:1] // it needs nothing of the account
		all.Go(func() {
			_, err := h.Pass(t.Context(), younger, tries(func() (bool, *turn.Refusal) {
				if d := take(h.teams["a"], 4); d > 0 {
					return false, &turn.Refusal{Resource: ofTeam("a"), Wait: d, Rate: 1}
				}
				h.served = append(h.served, "younger")
				return true, nil
			}))
			if err != nil {
				t.Error(err)
			}
		})
		time.Sleep(500 * time.Millisecond)
		h.teams["a"].ReserveN(time.Now(), 4) // taken elsewhere
		all.Wait()
		if want := []string{"first", "older", "younger"}; !slices.Equal(h.served, want) {
			t.Errorf("%v", h.served)
		}
	})
}
