package fault

import (
	"context"
	"sync"
)

// Stalls is the place where stalled requests wait. Its zero value is empty.
type Stalls struct {
	mu      sync.Mutex
	waiting int
	gate    chan struct{} // closed by release, then replaced
	changed chan struct{} // closed whenever waiting grows, then replaced
}

// Wait blocks until release or until the context ends, whose error it returns.
func (s *Stalls) Wait(ctx context.Context) error {
	s.mu.Lock()
	if s.gate == nil {
		s.gate = make(chan struct{})
	}
	gate := s.gate
	s.waiting++
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	s.mu.Unlock()

	select {
	case <-gate:
		return nil // release has counted us out
	case <-ctx.Done():
		s.leave(gate)
		return ctx.Err()
	}
}

// leave counts out a request that no longer waits at the gate.
func (s *Stalls) leave(gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == gate {
		s.waiting--
	}
}

// Release lets all requests go on that wait now.
func (s *Stalls) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
		s.waiting = 0
	}
}

// Await blocks until n wait at once, or until the context ends.
func (s *Stalls) Await(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		if s.waiting >= n {
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
