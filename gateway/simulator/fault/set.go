package fault

import "sync"

// Set are the faults in force. It is safe for concurrent use; its zero value is empty.
type Set struct {
	mu    sync.Mutex
	armed []armed
}

// armed is one fault in force, with the number of requests that it has met.
type armed struct {
	fault Fault
	seen  int
}

// Replace replaces the faults.
func (s *Set) Replace(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = nil
	for _, f := range list {
		s.armed = append(s.armed, armed{fault: f})
	}
}

// Take returns the fault of the next request to endpoint, or nil: the first one whose On, Skip and Times allow it.
func (s *Set) Take(endpoint string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.armed {
		if a := &s.armed[i]; a.meet(endpoint) {
			return &a.fault
		}
	}
	return nil
}

// meet counts a request, and reports whether the fault applies to it.
func (a *armed) meet(endpoint string) bool {
	if a.fault.On != "" && a.fault.On != endpoint {
		return false
	}
	n := a.seen - a.fault.Skip
	a.seen++
	return n >= 0 && (a.fault.Times == 0 || n < a.fault.Times)
}
