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
			Now: time.Now, Shared: h.store, Teams: slowRoll{h.teams}, Log: slog.New(slog.DiscardHandler),
			Token: func() ([sha256.Size]byte, bool) { return sha256.Sum256([]byte(token)), true },
		})
		burst := func(count int, try func(i int) error) (failed int) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range count {
				all.Go(func() {
					err := try(i)
					mu.Lock()
					defer mu.Unlock()
					if !errors.Is(err, access.ErrTooMany) {
						failed++
					}
				})
			}
			all.Wait()
			return failed
		}
		from := func(client, presented string) error {
			_, err := desk.Login(t.Context(), access.Visitor{Client: client}, presented)
			return err
		}
		if n := burst(100, func(int) error { return from("192.0.2.1", "guess") }); n != 20 {
			t.Errorf("%d guesses of one address failed, want 20", n)
		}
		if n := burst(200, func(i int) error { return from(fmt.Sprintf("198.51.100.%d", i), "slk_mapsmapsmaps_guess") }); n != 100 {
			t.Errorf("%d guesses at one account failed, want 100", n)
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

// TestLoginsThatAreLeftCount: whoever leaves before the answer has guessed as well.
func TestLoginsThatAreLeftCount(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		left, leave := context.WithCancel(t.Context())
		leave()
		for range 20 {
			_, _ = h.desk(obeying{h.store}).Login(left, visitor, "a guess") // each at another replica
		}
		if n := tries(h.Desk, visitor.Client, "a guess"); n != 0 {
			t.Errorf("%d more guesses", n)
		}
	})
}
