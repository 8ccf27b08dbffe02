package simulator

import (
	"context"
	"sync"
)

// armed is a fault of SetFault with the number of requests it has met.
type armed struct {
	fault Fault
	seen  int
}

// take reports whether the fault applies to the next request of endpoint.
func (a *armed) take(endpoint string) bool {
	if a.fault.On != "" && a.fault.On != endpoint {
		return false
	}
	n := a.seen - a.fault.Skip
	a.seen++
	return n >= 0 && (a.fault.Times == 0 || n < a.fault.Times)
}

// stalls is the place where stalled requests wait. Its zero value is empty.
type stalls struct {
	mu      sync.Mutex
	waiting int
	gate    chan struct{} // closed by release, then replaced
	changed chan struct{} // closed whenever waiting grows, then replaced
}

// wait blocks until release or until the context ends, whose error it
// returns.
func (s *stalls) wait(ctx context.Context) error {
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

// leave counts out one that waits at the gate no more.
func (s *stalls) leave(gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == gate {
		s.waiting--
	}
}

// release lets everybody go who waits now.
func (s *stalls) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
		s.waiting = 0
	}
}

// await blocks until n wait at once, or until the context ends.
func (s *stalls) await(ctx context.Context, n int) error {
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
