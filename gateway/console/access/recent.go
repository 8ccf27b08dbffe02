package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostRecent is how many names a recent remembers, at least half of them those used last.
const mostRecent = 10_000

// recent remembers a value for each of the names used last. The zero recent is empty.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]V // old is dropped when young is full
}

// get returns the value of a name. If there is none, it is that of make; with a nil make ok is false.
func (r *recent[V]) get(name string, make func() V) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok = r.young[name]; ok {
		return value, true
	}
	if value, ok = r.old[name]; !ok && make != nil {
		value, ok = make(), true
	}
	if ok {
		r.put(name, value)
	}
	return value, ok
}

// put remembers a value. The caller holds the lock.
func (r *recent[V]) put(name string, value V) {
	if r.young == nil || len(r.young) >= mostRecent/2 {
		r.young, r.old = map[string]V{}, r.young
	}
	r.young[name] = value
}

// names are names that were noted.
type names struct{ recent[struct{}] }

func (n *names) note(name string) { n.get(name, func() struct{} { return struct{}{} }) }

func (n *names) has(name string) bool {
	_, ok := n.get(name, nil)
	return ok
}

// paces bound how often something happens at this replica, by name.
type paces struct{ recent[*rate.Limiter] }

// allows reports whether something may happen once more: most times at once, and as often again within the time.
func (p *paces) allows(name string, now time.Time, most int, within time.Duration) bool {
	limiter, _ := p.get(name, func() *rate.Limiter {
		return rate.NewLimiter(rate.Every(within/time.Duration(most)), most)
	})
	return limiter.AllowN(now, 1)
}
