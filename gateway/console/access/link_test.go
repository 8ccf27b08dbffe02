package access_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/access/store"
)

// shaky is a store that may be away.
type shaky struct {
	*store.Memory
	away bool
}

func (s *shaky) Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error {
	if s.away {
		return errBroken
	}
	return s.Memory.Put(ctx, kind, name, value, life)
}

// TestALinkIsNotUsedUpInVain: without a session, because the store is away, it works again later, and then once.
func TestALinkIsNotUsedUpInVain(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		shared := &shaky{h.store, true}
		desk := h.desk(shared)
		try := func(code string) error {
			_, err := desk.ByCode(t.Context(), visitor, code)
			return err
		}
		code := desk.NewLink()
		if err := try(code); !errors.Is(err, access.ErrAway) {
			t.Errorf("while the store is away: %v", err)
		}
		shared.away = false
		if err := try(code); err != nil {
			t.Errorf("when it is back: %v", err)
		}
		if err := try(code); !errors.Is(err, access.ErrWrong) {
			t.Errorf("the second time: %v", err)
		}
		shared.away, code = true, desk.NewLink()
		_ = try(code)
		shared.away = false
		time.Sleep(access.LinkLife)
		if err := try(code); !errors.Is(err, access.ErrWrong) {
			t.Errorf("after ten minutes: %v", err)
		}
	})
}

// TestALinkIsRaced by many browsers at once: one of them gets a session.
func TestALinkIsRaced(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		code := h.NewLink()
		var all sync.WaitGroup
		won := make(chan string, 10)
		for range cap(won) {
			all.Go(func() {
				if secret, err := h.ByCode(t.Context(), visitor, code); err == nil {
					won <- secret
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Errorf("%d sessions", len(won))
		}
	})
}
