package limit

import (
	"context"
	"sync"
)

// turn lets one goroutine at a time do something. Who waits for it waits no longer than its context lasts. The zero turn is free.
type turn struct {
	mu   sync.Mutex
	room chan struct{}
}

func (t *turn) place() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.room == nil {
		t.room = make(chan struct{}, 1)
	}
	return t.room
}

// take takes the turn; the caller ends it.
func (t *turn) take(ctx context.Context) error {
	select {
	case t.place() <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try takes the turn if it is free, and reports whether it was.
func (t *turn) try() bool {
	select {
	case t.place() <- struct{}{}:
		return true
	default:
		return false
	}
}

func (t *turn) end() { <-t.place() }
