package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostRecent bounds the names of a recent; the half used last always stays.
const mostRecent = 10_000

// recent caches a value for each of the last used names. The zero recent is empty.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]V // old is dropped when young is full
}

// get returns the value of a name. It makes a missing one with make; if make is nil, ok is false.
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

// names is a set of recent names.
type names struct{ recent[struct{}] }

func (n *names) note(name string) { n.get(name, func() struct{} { return struct{}{} }) }

func (n *names) has(name string) bool {
	_, ok := n.get(name, nil)
	return ok
}

// Limiters bound how often something happens in this process, by name. They keep the last used names. The zero Limiters are empty.
type Limiters struct{ recent[*rate.Limiter] }

// Allows reports whether something may happen once more: burst times at once, and then at the rate.
func (l *Limiters) Allows(name string, now time.Time, every rate.Limit, burst int) bool {
	limiter, _ := l.get(name, func() *rate.Limiter { return rate.NewLimiter(every, burst) })
	return limiter.AllowN(now, 1)
}
