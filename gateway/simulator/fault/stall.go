package fault

import (
	"context"
	"sync"
)

// Stalls is where stalled requests wait. It is safe for concurrent use; its zero value is empty.
type Stalls struct {
	mu      sync.Mutex
	waiting int
	round   int           // grows with every release
	changed chan struct{} // closed at every change, then replaced
}

// Wait blocks until Release, or until the context ends, whose error it returns.
func (s *Stalls) Wait(ctx context.Context) error {
	var round int
	s.change(func() { round = s.round; s.waiting++ })
	err := s.until(ctx, func() bool { return s.round > round })
	if err != nil {
		s.change(func() {
			if s.round == round { // else Release has counted it out
				s.waiting--
			}
		})
	}
	return err
}

// Release lets all requests go on that wait now.
func (s *Stalls) Release() {
	s.change(func() { s.round++; s.waiting = 0 })
}

// Await blocks until n requests wait at once, or until the context ends, whose error it returns.
func (s *Stalls) Await(ctx context.Context, n int) error {
	return s.until(ctx, func() bool { return s.waiting >= n })
}

// change makes a change and wakes those who wait for one.
func (s *Stalls) change(by func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// until blocks until ok, or until the context ends.
func (s *Stalls) until(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		if ok() {
			s.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
