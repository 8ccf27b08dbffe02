package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostRecent is how many names a recent remembers; at least the half used last stays.
const mostRecent = 10_000

// recent remembers a value for each of the names used last. The zero recent is empty.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]V // old is dropped when young is full
}

// get returns the value of a name. A missing one is made with make; if make is nil, ok is false.
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
		if r.young == nil || len(r.young) >= mostRecent/2 {
			r.young, r.old = map[string]V{}, r.young
		}
		r.young[name] = value
	}
	return value, ok
}

// names are names that were noted.
type names struct{ recent[struct{}] }

func (n *names) note(name string) { n.get(name, func() struct{} { return struct{}{} }) }

func (n *names) has(name string) bool {
	_, ok := n.get(name, nil)
	return ok
}

// Limiters bound how often something happens in this process, by name. They remember the names used last. The zero Limiters are empty.
type Limiters struct{ recent[*rate.Limiter] }

// Allows reports whether something may happen once more: burst times immediately, and then at that rate.
func (l *Limiters) Allows(name string, now time.Time, every rate.Limit, burst int) bool {
	limiter, _ := l.get(name, func() *rate.Limiter { return rate.NewLimiter(every, burst) })
	return limiter.AllowN(now, 1)
}
