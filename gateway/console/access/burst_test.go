package access_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/access/store"
)

// slowRoll takes a second to look a key up, so that many look-ups are under way at once.
type slowRoll struct{ *roll }

func (r slowRoll) OfKey(presented string) (team, key string, ok bool) {
	time.Sleep(time.Second)
	return r.roll.OfKey(presented)
}

// TestManyAttemptsAtOnce are no more than one after the other.
func TestManyAttemptsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		desk := access.NewDesk(access.Deps{
			Now: time.Now, Shared: h.store, Own: store.NewMemory(time.Now), Teams: slowRoll{h.teams}, Log: slog.New(slog.DiscardHandler),
			Token: func() ([sha256.Size]byte, bool) { return sha256.Sum256([]byte(token)), true },
		})
		burst := func(count int, try func(i int) error) (judged int) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range count {
				all.Go(func() {
					err := try(i)
					mu.Lock()
					defer mu.Unlock()
					if !errors.Is(err, access.ErrTooMany) {
						judged++
					}
				})
			}
			all.Wait()
			return judged
		}
		from := func(client, presented string) error {
			_, err := desk.Login(t.Context(), access.Visitor{Client: client}, presented)
			return err
		}
		if n := burst(100, func(int) error { return from("192.0.2.1", "guess") }); n != 20 {
			t.Errorf("%d guesses of one address were judged, want 20", n)
		}
		if n := burst(200, func(i int) error { return from(fmt.Sprintf("198.51.100.%d", i), "slk_mapsmapsmaps_guess") }); n != 100 {
			t.Errorf("%d guesses at one account were judged, want 100", n)
		}
		if err := from("198.51.100.150", token); err != nil {
			t.Errorf("an address that was refused for the account: %v", err)
		}
		for range 30 {
			if err := from("203.0.113.1", token); err != nil {
				t.Fatalf("one good login after the other: %v", err)
			}
		}
	})
}

// obeying is a store that is not asked for a client that has left, as Redis is not.
type obeying struct{ access.Store }

func (o obeying) Count(ctx context.Context, name string, step int, window time.Duration) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return o.Store.Count(ctx, name, step, window)
}

// TestLoginsThatAreLeftTakeNoFailureBack: somebody with a key, who logs in and leaves at once, has no more guesses for it.
func TestLoginsThatAreLeftTakeNoFailureBack(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		desk := h.desk(obeying{h.store})
		left, leave := context.WithCancel(t.Context())
		leave()
		guesses := 0
		for range 60 {
			if _, err := desk.Login(t.Context(), visitor, "a guess"); errors.Is(err, access.ErrWrong) {
				guesses++
			}
			_, _ = desk.Login(left, visitor, mapsKey)
		}
		if guesses != 20 {
			t.Errorf("%d guesses", guesses)
		}
	})
}
