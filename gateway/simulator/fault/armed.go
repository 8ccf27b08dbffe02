package fault

import "sync"

// Set are the faults in force, safe for concurrent use. The zero value has none.
type Set struct {
	mu    sync.Mutex
	armed []*armed
}

// armed is one of them with the number of requests that it has met.
type armed struct {
	fault Fault
	seen  int
}

// Replace replaces the faults.
func (fs *Set) Replace(list ...Fault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.armed = nil
	for _, f := range list {
		fs.armed = append(fs.armed, &armed{fault: f})
	}
}

// Take returns the fault of the next request to endpoint, or nil: the first one whose On, Skip and Times allow it.
func (fs *Set) Take(endpoint string) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.armed {
		if a.take(endpoint) {
			return &a.fault
		}
	}
	return nil
}

func (a *armed) take(endpoint string) bool {
	if a.fault.On != "" && a.fault.On != endpoint {
		return false
	}
	n := a.seen - a.fault.Skip
	a.seen++
	return n >= 0 && (a.fault.Times == 0 || n < a.fault.Times)
}
