package cache_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"sluice/cache"
)

// equals joins equal requests from two replicas in turns.
type equals struct {
	*testing.T
	replicas [2]*replica
	turn     int
}

var equalName = cache.IdempotencyName{Team: "search", Digest: "d"}

// join lets an attempt join, and returns its name and what is remembered if it runs.
func (e *equals) join(attempt int, counts bool) (name cache.IdempotencyName, runs *cache.Outcome) {
	e.Helper()
	e.turn++
	name, was, first, err := e.replicas[e.turn%2].Join(e.Context(), equalName, [32]byte{1},
		cache.Attempt{Token: rand.Text(), Number: attempt, Counts: counts})
	if err != nil || was.Status == 0 && was.Token == "" {
		e.Fatalf("attempt %d: %+v, %v", attempt, was, err)
	}
	time.Sleep(time.Millisecond) // the stores order requests by their clock, so no two may begin at the same moment
	if first {
		return name, &was
	}
	return name, nil
}

// end ends a running request with a status; 0: it was refused.
func (e *equals) end(name cache.IdempotencyName, was *cache.Outcome, status int) {
	was.Status = status
	e.replicas[0].End(e.Context(), name, was.Body, *was)
}

// wants lets a repetition join and checks the name that it takes, and whether it runs.
func (e *equals) wants(about string, attempt int, want cache.IdempotencyName, wantRuns bool) *cache.Outcome {
	e.Helper()
	name, was := e.join(attempt, true)
	if name != want || (was != nil) != wantRuns {
		e.Errorf("%s: took %v, runs: %v; want %v, %v", about, name, was != nil, want, wantRuns)
	}
	return was
}

func equalForms(t *testing.T, test func(e *equals)) {
	forms(t, func(t *testing.T, open func() *replica) {
		test(&equals{T: t, replicas: [2]*replica{open(), open()}})
	})
}

// Each repetition takes a request that no repetition with its number has taken, and follows it from attempt to attempt.
func TestEachRepetitionTakesARequestOfItsOwn(t *testing.T) {
	equalForms(t, func(e *equals) {
		one, wasOne := e.join(0, true)
		two, wasTwo := e.join(0, true)
		if one == two || wasOne == nil || wasTwo == nil {
			e.Fatalf("%v, %v", one, two)
		}
		e.wants("the first repetition", 1, two, false)
		e.wants("its second", 2, two, false)
		e.wants("another's first", 1, one, false)
		e.wants("the second of either", 2, one, false)
		e.wants("a third", 3, two, false)
		e.wants("a repetition too many", 1, two, false)
		e.end(one, wasOne, 200)
		if was, first, err := e.replicas[1].Begin(e.Context(), one, [32]byte{1}, rand.Text()); err != nil || first || was.Status != 200 {
			e.Errorf("%+v, %v, %v", was, first, err)
		}
	})
}

// The repetition of a refused attempt runs, and does not affect earlier requests; without counted attempts none is expected.
func TestTheRepetitionOfARefusedAttemptRuns(t *testing.T) {
	equalForms(t, func(e *equals) {
		made, was := e.join(0, true)
		e.end(made, was, 200)
		refused, was := e.join(0, true)
		e.end(refused, &cache.Outcome{Token: "another's"}, 0) // frees nothing
		e.end(refused, was, 0)
		uncounted, was := e.join(0, false)
		e.end(uncounted, was, 0)
		again := e.wants("the repetition", 1, refused, true)
		e.end(refused, again, 0)
		again = e.wants("its next repetition", 2, refused, true)
		e.wants("another call's repetition", 1, made, false)
		e.wants("a repetition while it runs", 3, refused, false)
		e.end(refused, again, 0)
		if _, first, err := e.replicas[1].Begin(e.Context(), refused, [32]byte{1}, rand.Text()); err != nil || !first {
			e.Errorf("a repetition that waits does not run: %v", err)
		}
		e.wants("a repetition while that one runs", 4, refused, false)
	})
}

// However many equal requests are refused, the one that made a task is found.
func TestRefusedRequestsPushOutNoTask(t *testing.T) {
	equalForms(t, func(e *equals) {
		made, was := e.join(0, true)
		e.end(made, was, 200)
		for range 300 {
			name, was, _, err := e.replicas[0].Join(e.Context(), equalName, [32]byte{1}, cache.Attempt{Token: rand.Text(), Counts: true})
			if err != nil {
				e.Fatal(err)
			}
			e.end(name, &was, 0)
		}
		for range 255 {
			if _, runs := e.join(2, true); runs == nil {
				e.Fatal("the repetition of a refused attempt does not run")
			}
		}
		e.wants("the last repetition", 2, made, false)
	})
}

// Of simultaneous repetitions whose first attempt is not known, one runs. The first attempt that arrives later takes its request.
func TestRepetitionsWithoutAFirstAttempt(t *testing.T) {
	equalForms(t, func(e *equals) {
		var runs, errs sync.Map
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				name, was, first, err := e.replicas[i%2].Join(e.Context(), equalName, [32]byte{1},
					cache.Attempt{Token: rand.Text(), Number: 1 + i/4, Counts: true})
				if err != nil {
					errs.Store(i, err)
				}
				if first {
					runs.Store(name, was)
				}
			})
		}
		group.Wait()
		count := 0
		runs.Range(func(any, any) bool { count++; return true })
		errs.Range(func(_, err any) bool { e.Error(err); return true })
		if count != 1 {
			e.Errorf("%d run", count)
		}
		join := func(a cache.Attempt) (name cache.IdempotencyName, first bool) {
			a.Token = rand.Text()
			name, _, first, err := e.replicas[0].Join(e.Context(), equalName, [32]byte{1}, a)
			if err != nil {
				e.Error(err)
			}
			return name, first
		}
		late := cache.Attempt{Counts: true, Patience: time.Minute}
		if _, first := join(cache.Attempt{Patience: time.Minute}); !first {
			e.Error("a request that does not count its attempts is taken for a late one")
		}
		if name, first := join(late); first {
			e.Error("a late first attempt runs beside its repetition")
		} else if _, ok := runs.Load(name); !ok {
			e.Errorf("a late first attempt takes %v", name)
		}
		if _, first := join(late); !first {
			e.Error("a first attempt of another call does not run")
		}
		other := cache.IdempotencyName{Team: "shop", Digest: "d"}
		if _, _, first, err := e.replicas[0].Join(e.Context(), other, [32]byte{1},
			cache.Attempt{Token: rand.Text(), Number: 1}); !first || err != nil {
			e.Errorf("another team's: %v, %v", first, err)
		}
	})
}

// A repetition takes the request whose client left before one that was refused, and that before one whose client waits or has its
// answer.
func TestARepetitionTakesTheRequestThatWasGivenUp(t *testing.T) {
	equalForms(t, func(e *equals) {
		left, _ := e.join(0, true)
		refused, was := e.join(0, true)
		waits, _ := e.join(0, true)
		e.end(refused, was, 0)
		e.replicas[1].Leave(e.Context(), left)
		e.replicas[1].Leave(e.Context(), refused)
		e.replicas[1].Leave(e.Context(), cache.IdempotencyName{Team: "search", Digest: "d.unknown"})
		e.wants("of the one that left", 1, left, false)
		e.wants("of the refused one", 1, refused, true)
		e.wants("of the one that waits", 1, waits, false)
		e.replicas[0].Leave(e.Context(), left)
		e.wants("its second", 2, left, false)
	})
}

// A late first attempt runs in the place of its repetition, if that was refused; and takes nothing that is older than its patience.
func TestALateFirstAttemptOfARefusedRepetitionRuns(t *testing.T) {
	equalForms(t, func(e *equals) {
		repeated, was := e.join(1, true)
		e.end(repeated, was, 0)
		join := func(patience time.Duration) (cache.IdempotencyName, bool) {
			a := cache.Attempt{Token: rand.Text(), Counts: true, Patience: patience}
			name, _, runs, err := e.replicas[1].Join(e.Context(), equalName, [32]byte{1}, a)
			if err != nil {
				e.Error(err)
			}
			return name, runs
		}
		if name, runs := join(0); !runs || name == repeated {
			e.Errorf("a first attempt without patience: %v, %v", name, runs)
		}
		if name, runs := join(time.Minute); !runs || name != repeated {
			e.Errorf("a late first attempt: %v, %v", name, runs)
		}
		e.wants("its next repetition", 2, repeated, false)
	})
}
