package event

import (
	"context"
	"maps"
	"sync"
)

// endedHooks are the hooks that have ended, in this process.
type endedHooks struct {
	mu    sync.Mutex
	marks map[Address]string
}

// End implements [Outbox].
func (e *endedHooks) End(_ context.Context, hook Address, mark string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.marks == nil {
		e.marks = map[Address]string{}
	}
	if e.marks[hook] = mark; mark == "" {
		delete(e.marks, hook)
	}
	return nil
}

// Ended implements [Outbox].
func (e *endedHooks) Ended(context.Context) (map[Address]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.marks), nil
}
