package turn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/turn"
	"sluice/policy/limit"
)

// service has accounts, each with a rate of its own. One of them may cool, or be closed.
type service struct {
	*turn.Queue

	mu       sync.Mutex
	accounts map[string]*rate.Limiter
	until    map[string]time.Time // while they cool
	closed   map[string]bool
	shut     map[*turn.Request][]string // accounts whose quota for its like is spent
	during   func(r *turn.Request)      // called inside each try; nil: nothing is
	back     map[string]time.Time       // when a try brought it back
	served   []string                   // "account team"
	waiting  map[*turn.Request][]string
	faults   []string
}

func newService(perSecond float64, burst int, ids ...string) *service {
	s := &service{Queue: turn.New(), accounts: map[string]*rate.Limiter{}, until: map[string]time.Time{}, closed: map[string]bool{},
		shut: map[*turn.Request][]string{}, back: map[string]time.Time{}, waiting: map[*turn.Request][]string{}}
	for _, id := range ids {
		s.accounts[id] = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	return s
}

func rateOf(id string) turn.Resource {
	return turn.Resource{Scope: limit.ScopeAccount, Name: id + " *", Unit: "requests"}
}

// served is a request of a team that these accounts serve.
func served(team string, share float64, wait time.Duration, cost float64, ids ...string) *turn.Request {
	r := &turn.Request{Team: team, Share: share, Wait: wait, Depth: 1000}
	for _, id := range ids {
		r.Ways = append(r.Ways, turn.Way{ID: id, Needs: []turn.Need{{Resource: rateOf(id), Cost: cost},
			{Resource: turn.Account(id, "m"), Cost: 1}}})
	}
	return r
}

// try takes from the first account that has room.
func (s *service) try(r *turn.Request) turn.Try {
	return func(awaited turn.Awaited) turn.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.during != nil {
			s.during(r)
		}
		var a turn.Answer
		for _, w := range r.Ways {
			if _, others := awaited[w.ID]; others {
				continue
			}
			refused := s.refused(r, w.ID, int(w.Needs[0].Cost))
			if refused == nil {
				s.served = append(s.served, w.ID+" "+r.Team)
				s.overtaken(r, w.ID)
				delete(s.waiting, r)
				return turn.Answer{Passed: true, Way: w.ID}
			}
			a.Refused = append(a.Refused, *refused)
		}
		return a
	}
}

// refused takes from an account, or says why not.
func (s *service) refused(r *turn.Request, id string, n int) *turn.Refusal {
	switch wait := time.Until(s.until[id]); {
	case slices.Contains(s.shut[r], id):
		return &turn.Refusal{Resource: turn.Account(id, "m"), Way: id, Wait: time.Hour, Closed: true}
	case s.closed[id]:
		return &turn.Refusal{Resource: turn.Account(id, "m"), Way: id, Wait: 30 * time.Second, Closed: true}
	case wait > 0:
		return &turn.Refusal{Resource: turn.Account(id, "m"), Way: id, Wait: wait}
	}
	if d := take(s.accounts[id], n); d > 0 {
		return &turn.Refusal{Resource: rateOf(id), Way: id, Wait: d, Rate: float64(s.accounts[id].Limit())}
	}
	return nil
}

// overtaken notes a fault if a request that does not wait took an account for which another one waits.
func (s *service) overtaken(r *turn.Request, id string) {
	if _, waits := s.waiting[r]; waits {
		return
	}
	for other, ways := range s.waiting {
		if slices.Contains(ways, id) && s.Awaited(rateOf(id)) {
			s.faults = append(s.faults, fmt.Sprintf("%s passed by %s, for which team %s waits", r.Team, id, other.Team))
		}
	}
}

// pass is Pass, of a request that is known to wait.
func (s *service) pass(ctx context.Context, r *turn.Request) (turn.Outcome, error) {
	w, out, err := s.Begin(r, s.try(r))
	if w == nil {
		return out, err
	}
	s.mu.Lock()
	for i := range r.Ways {
		s.waiting[r] = append(s.waiting[r], r.Ways[i].ID)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, r)
	}()
	return w.Await(ctx, s.try(r))
}

// later passes a request in the background; the channel has how long it waited.
func (s *service) later(t *testing.T, r *turn.Request) <-chan time.Duration {
	done := make(chan time.Duration, 1)
	go func() {
		out, err := s.pass(t.Context(), r)
		if err != nil {
			t.Errorf("team %s: %v", r.Team, err)
		}
		done <- out.Waited
	}()
	synctest.Wait()
	return done
}

// change changes what an account allows while others try.
func (s *service) change(act func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act()
}

// A request that waits for one account holds back no request for another account.
func TestWhoWaitsForOneAccountKeepsNobodyFromAnother(t *testing.T) {
	for _, cools := range []bool{true, false} {
		for _, wait := range []time.Duration{0, time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				s := newService(0.1, 1, "a", "b")
				if s.until["a"] = time.Now().Add(10 * time.Second); !cools {
					s.change(func() { s.until["a"] = time.Time{} })
					_ = take(s.accounts["a"], 1)
				}
				waits := s.later(t, served("x", 1, time.Minute, 1, "a"))
				if out, err := s.pass(t.Context(), served("y", 1, wait, 1, "b")); err != nil || out.Waited != 0 {
					t.Errorf("its own account has room: %+v %v", out, err)
				}
				s.change(func() { s.accounts["b"] = rate.NewLimiter(1, 1) })
				if out, err := s.pass(t.Context(), served("y", 1, wait, 1, "a", "b")); err != nil || out.Waited != 0 || s.served[1] != "b y" {
					t.Errorf("one of its accounts has room: %+v %v %v", out, err, s.served)
				}
				if ahead := s.Ahead(served("y", 1, 0, 1, "a", "b")); len(ahead) != 1 || ahead["a"] < 10*time.Second {
					t.Errorf("others wait at %v", ahead)
				}
				out, err := s.pass(t.Context(), served("y", 1, 0, 1, "a"))
				if err == nil || out.Ahead != 1 {
					t.Errorf("it overtakes at the account: %+v %v", out, err)
				}
				if got := <-waits; got != 10*time.Second {
					t.Errorf("it waited %v", got)
				}
			})
		}
	}
}

// A request takes the first of its accounts that has room, also if it came to wait for another one.
func TestTheFirstAccountWithRoomIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(0.1, 1, "a", "b")
		_, _ = take(s.accounts["a"], 1), take(s.accounts["b"], 1)
		s.change(func() { s.until["b"] = time.Now().Add(time.Minute) })
		waits := s.later(t, served("x", 1, time.Minute, 1, "a", "b"))
		time.Sleep(2 * time.Second)
		s.change(func() { s.until["b"] = time.Time{} }) // it came back before its time, and its bucket is full
		s.change(func() { s.accounts["b"] = rate.NewLimiter(1, 1) })
		s.Back("b")
		if got := <-waits; got != 2*time.Second {
			t.Errorf("it waited %v", got)
		}
	})
}

// What is closed is no reason to wait, and none waits behind it; who waits for another account passes by it as soon as it comes back.
func TestWhatIsClosedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(0.1, 1, "a", "b")
		_ = take(s.accounts["a"], 1)
		s.change(func() { s.closed["b"] = true })
		if out, err := s.pass(t.Context(), served("x", 1, time.Minute, 1, "b")); err != nil || !s.Idle() {
			t.Errorf("it waits for what is closed: %+v %v", out, err)
		}
		waits := s.later(t, served("x", 1, time.Minute, 1, "a", "b"))
		if s.Awaited(turn.Account("b", "m")) || !s.Awaited(rateOf("a")) {
			t.Error("what is closed is awaited, or what is not is not")
		}
		if out, err := s.pass(t.Context(), served("y", 1, time.Minute, 1, "b")); err != nil || out.Waited != 0 {
			t.Errorf("%+v %v", out, err)
		}
		time.Sleep(3 * time.Second)
		s.change(func() { s.closed["b"] = false })
		s.Back("b")
		if got := <-waits; got != 3*time.Second || s.served[0] != "b x" {
			t.Errorf("it waited %v, and took %v", got, s.served)
		}
	})
}

// A request that an account is closed to holds back no other request there, in whatever order they came.
func TestNobodyWaitsBehindWhatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(0.1, 1, "a", "b")
		_ = take(s.accounts["b"], 1)
		first := served("x", 1, time.Minute, 1, "a", "b")
		s.change(func() { s.shut[first] = []string{"a"} })
		waits := s.later(t, first)
		s.change(func() { s.until["a"] = time.Now().Add(2 * time.Second) })
		second := s.later(t, served("y", 1, 5*time.Second, 1, "a"))
		if out, err := s.pass(t.Context(), served("z", 1, 0, 1, "a")); err == nil || out.Ahead != 1 || out.Wait != 2*time.Second {
			t.Errorf("one that does not wait: %+v %v", out, err)
		}
		third := s.later(t, served("x", 1, 15*time.Second, 1, "a")) // of the first one's team
		if got := <-second; got != 2*time.Second {
			t.Errorf("the second waited %v", got)
		}
		if got := <-waits; got != 10*time.Second {
			t.Errorf("the first waited %v", got)
		}
		if got := <-third; got != 12*time.Second {
			t.Errorf("the third waited %v", got)
		}
	})
}

// When a request that tries by another account leaves one out that is closed for it, because others wait there, it comes to try there at
// once when they have gone, and does not keep the next ones until the account opens for it.
func TestWhatWasClosedIsTriedInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(0.1, 1, "a", "b")
		_ = take(s.accounts["b"], 1)
		first := served("x", 1, time.Minute, 1, "a", "b")
		s.change(func() { s.shut[first] = []string{"a"} })
		waits := s.later(t, first)
		s.change(func() { s.until["a"] = time.Now().Add(20 * time.Second) })
		second := s.later(t, served("y", 1, time.Minute, 1, "a"))
		for range 3 { // others take them
			s.accounts["b"].ReserveN(time.Now(), 1)
		}
		if got := <-second; got != 20*time.Second {
			t.Errorf("the second waited %v", got)
		}
		synctest.Wait()
		if s.Awaited(turn.Account("a", "m")) {
			t.Error("the first is waited for where it is closed")
		}
		if got := <-waits; got != 40*time.Second {
			t.Errorf("the first waited %v", got)
		}
	})
}

// A request does not try without a pause where its own tries bring back what is closed for it.
func TestWhatIsClosedIsTriedWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tries := newService(0.1, 1, "a", "b"), 0
		_ = take(s.accounts["b"], 1)
		r := served("x", 1, time.Minute, 1, "a", "b")
		s.change(func() { s.shut[r] = []string{"a"} })
		s.during = func(*turn.Request) {
			if tries++; tries > 1000 {
				s.shut = nil
			}
			s.Back("a")
		}
		waits := s.later(t, r)
		s.Back("a")
		if got := <-waits; got != 10*time.Second || tries < 10 || tries > 13 {
			t.Errorf("it waited %v, and tried %d times", got, tries)
		}
	})
}

// A panic of Check leaves nothing behind, whether the request sleeps or has its turn.
func TestAPanicOfACheckEndsTheWait(t *testing.T) {
	for _, asleep := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, broken := newService(0.1, 1, "a"), atomic.Bool{}
			_ = take(s.accounts["a"], 1)
			r := served("x", 1, time.Minute, 1, "a")
			r.Check = func() (*turn.Request, error) {
				if broken.Load() {
					panic("broken")
				}
				return nil, nil
			}
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_, _ = s.Pass(t.Context(), r, s.try(r))
			}()
			synctest.Wait()
			if broken.Store(true); asleep {
				s.Changed()
			}
			if got := <-done; got != "broken" || !s.Idle() || s.Waiting("x") != 0 || s.Awaited(rateOf("a")) {
				t.Errorf("%v; idle %v, %d wait", got, s.Idle(), s.Waiting("x"))
			}
		})
	}
}

// If everything closes for which a request waits, its wait is over.
func TestAWaitEndsWhenAllIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(0.1, 1, "a", "b")
		s.change(func() { s.until["a"] = time.Now().Add(5 * time.Second) })
		s.change(func() { s.closed["b"] = true })
		waits := s.later(t, served("x", 1, time.Minute, 1, "a", "b"))
		s.change(func() { s.closed["a"] = true })
		if got := <-waits; got != 5*time.Second || !s.Idle() || len(s.served) != 0 {
			t.Errorf("it waited %v, and took %v", got, s.served)
		}
	})
}

// What a Check says ends a wait: at a change, and before a try. One that does not wait is not checked.
func TestAWaitIsChecked(t *testing.T) {
	errGone := errors.New("its key was revoked")
	for _, changes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, gone := newService(0.1, 1, "a"), atomic.Bool{}
			r := served("x", 1, time.Minute, 1, "a")
			r.Check = func() (*turn.Request, error) {
				if gone.Load() {
					return nil, errGone
				}
				return nil, nil
			}
			gone.Store(true)
			if _, err := s.pass(t.Context(), r); err != nil || len(s.served) != 1 {
				t.Errorf("it does not wait, and is refused: %v", err)
			}
			gone.Store(false)
			done := make(chan turn.Outcome, 1)
			go func() {
				out, err := s.pass(t.Context(), r)
				if !errors.Is(err, errGone) || len(s.served) != 1 {
					t.Errorf("%v %v", err, s.served)
				}
				done <- out
			}()
			synctest.Wait()
			s.Changed()
			synctest.Wait()
			if s.Idle() {
				t.Error("its wait ended although nothing of it changed")
			}
			want := 10 * time.Second
			if gone.Store(true); changes {
				time.Sleep(time.Second)
				s.Changed()
				want = time.Second
			}
			if out := <-done; out.Waited != want || !s.Idle() {
				t.Errorf("it waited %v", out.Waited)
			}
		})
	}
}

// Of two accounts with equal rates a request is told half of what one of them would take, and that is what it takes.
func TestTheEstimateCountsEveryAccount(t *testing.T) {
	for _, tt := range []struct {
		ids  []string
		want time.Duration
	}{{[]string{"a"}, 11 * time.Second}, {[]string{"a", "b"}, 6 * time.Second}, {[]string{"a", "b", "c", "d", "e"}, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(1, 1, tt.ids...)
			for _, id := range tt.ids {
				_ = take(s.accounts[id], 1)
			}
			for range 10 {
				s.later(t, served("x", 1, time.Minute, 1, tt.ids...))
			}
			out, err := s.pass(t.Context(), served("x", 1, 0, 1, tt.ids...))
			if off := out.Wait - tt.want; err == nil || off < -time.Second || off > time.Second {
				t.Errorf("%v: %v are said, want about %v: %v", tt.ids, out.Wait, tt.want, err)
			}
			last, err := s.pass(t.Context(), served("x", 1, time.Minute, 1, tt.ids...))
			if off := last.Waited - out.Wait; err != nil || off < -time.Second || off > time.Second {
				t.Errorf("%v: %v were said, it took %v: %v", tt.ids, out.Wait, last.Waited, err)
			}
		})
	}
}

// At several accounts together, teams of shares 1, 1 and 2 get 25, 25 and 50 %, also if one of them may use all and the others one each.
func TestTeamsTakeTurnsAtEachAccount(t *testing.T) {
	for name, of := range map[string]map[string][]string{
		"all":  {"a": {"x", "y"}, "b": {"x", "y"}, "c": {"x", "y"}},
		"each": {"a": {"x"}, "b": {"x"}, "c": {"x"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(20, 10, "x", "y")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for team, ids := range of {
				share := map[string]float64{"a": 1, "b": 1, "c": 2}[team]
				for range 20 {
					go func() {
						for ctx.Err() == nil {
							_, _ = s.pass(ctx, served(team, share, time.Hour, 1, ids...))
						}
					}()
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			parts := map[string]int{}
			for _, one := range s.served {
				_, team, _ := strings.Cut(one, " ")
				parts[team]++
			}
			all := float64(len(s.served))
			for team, want := range map[string]float64{"a": 25, "b": 25, "c": 50} {
				if part := 100 * float64(parts[team]) / all; part < want-2 || part > want+2 {
					t.Errorf("%s: team %s has %.1f %%", name, team, part)
				}
			}
			if want := 1200 * float64(len(of["a"])); all < want-10 || all > want+50 {
				t.Errorf("%s: %v were served of %v", name, all, want)
			}
		})
	}
}

// Requests come and leave, accounts cool and recover, at random. No request passes by an account for which another one waits. None waits
// while one of its accounts has room and no other request waits for that account. At the end the queue is empty.
func TestWaysAtRandom(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 9))
			ids := []string{"a", "b", "c"}
			s := newService(float64(1+random.IntN(20)), 3+random.IntN(4), ids...)
			tries := 0
			s.during = func(r *turn.Request) { // as the end of a probe does
				if tries++; seed%2 == 1 && tries%3 == 0 {
					id := r.Ways[tries%len(r.Ways)].ID
					s.back[id] = time.Now()
					s.Back(id)
				}
			}
			var all sync.WaitGroup
			for range 120 {
				may := slices.DeleteFunc(slices.Clone(ids), func(string) bool { return random.IntN(2) == 0 })
				if len(may) == 0 {
					may = ids[random.IntN(3):][:1]
				}
				team, wait, cost := []string{"x", "y", "z"}[random.IntN(3)], time.Duration(random.IntN(4000))*time.Millisecond,
					float64(1+random.IntN(3))
				if random.IntN(3) == 0 {
					wait = 0
				}
				ctx, leave := t.Context(), context.CancelFunc(func() {})
				if random.IntN(5) == 0 {
					ctx, leave = context.WithTimeout(ctx, time.Duration(random.IntN(2000))*time.Millisecond)
				}
				r := served(team, 1, wait, cost, may...)
				if random.IntN(4) == 0 {
					s.mu.Lock()
					s.shut[r] = []string{may[random.IntN(len(may))]}
					s.mu.Unlock()
				}
				all.Go(func() {
					defer leave()
					begun := time.Now()
					out, err := s.pass(ctx, r)
					if took := time.Since(begun); took > wait || took != out.Waited {
						t.Errorf("seed %d: %v of %v waited, %v were said: %v", seed, took, wait, out.Waited, err)
					}
				})
				synctest.Wait()
				s.none(t, seed)
				s.mu.Lock()
				switch id := ids[random.IntN(3)]; random.IntN(12) {
				case 0:
					if until := time.Now().Add(time.Duration(random.IntN(2000)) * time.Millisecond); until.After(s.until[id]) { // nothing shortens it
						s.until[id] = until
					}
				case 1:
					s.closed[id] = true
				case 2:
					s.closed[id], s.until[id] = false, time.Time{}
					s.Back(id)
				}
				s.mu.Unlock()
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
				synctest.Wait()
				s.none(t, seed)
			}
			all.Wait()
			if len(s.faults) > 0 || !s.Idle() || len(s.waiting) > 0 {
				t.Errorf("seed %d: %v; idle %v, %d wait", seed, s.faults, s.Idle(), len(s.waiting))
			}
		})
	}
}

// none expects that no request waits for an account which has room for every request that waits for it.
func (s *service) none(t *testing.T, seed uint64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	most := map[string]float64{} // that one needs of an account which is not closed for it
	for r := range s.waiting {
		for _, way := range r.Ways {
			if !slices.Contains(s.shut[r], way.ID) {
				most[way.ID] = max(most[way.ID], way.Needs[0].Cost)
			}
		}
	}
	for id, cost := range most {
		if time.Since(s.back[id]) <= time.Second { // whom that try was closed rests
			continue
		}
		if !s.closed[id] && !time.Now().Before(s.until[id]) && s.accounts[id].Tokens() >= cost+1e-6 {
			t.Errorf("seed %d: some wait although account %s has room for each of them", seed, id)
		}
	}
}

// What a Check says instead of a request takes its place: behind those of its team that came before it, and before those that came later.
// Who then needs nothing that is awaited tries immediately.
func TestARequestThatChangesKeepsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(0.1, 1, "a", "b")
		_, _ = take(s.accounts["a"], 1), take(s.accounts["b"], 1)
		var moved atomic.Bool
		begun, order := time.Now(), make(chan string, 3)
		later := func(name string, moves bool) {
			r := served("x", 1, time.Minute, 1, "a")
			now := r
			if moves {
				r.Check = func() (*turn.Request, error) {
					if !moved.Load() {
						return nil, nil
					}
					now = served("x", 1, time.Minute, 1, "b")
					return now, nil
				}
			}
			go func() {
				if _, err := s.Pass(t.Context(), r, func(awaited turn.Awaited) turn.Answer { return s.try(now)(awaited) }); err != nil {
					t.Error(name, err)
				}
				order <- fmt.Sprintf("%s %v", name, time.Since(begun).Round(time.Second))
			}()
			synctest.Wait()
		}
		later("first", true)
		later("second", false)
		later("third", true)
		moved.Store(true)
		s.Changed()
		got := []string{<-order, <-order, <-order}
		slices.Sort(got)
		if want := []string{"first 10s", "second 10s", "third 20s"}; !slices.Equal(got, want) || !s.Idle() {
			t.Errorf("%v; idle %v", got, s.Idle())
		}
	})
}
