package repeats

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Strikes slows down keys that send broken requests, which cost a team nothing, but this process time. It is in memory only: each
// process defends itself.
type Strikes struct {
	rate  rate.Limit
	burst int
	now   func() time.Time
	mu    sync.Mutex
	keys  map[string]*rate.Limiter
	most  int // number of keys at which those without a recent broken request are forgotten
	last  time.Time
}

// NewStrikes allows each key perSecond broken requests a second, and a burst of them.
func NewStrikes(perSecond, burst int64, now func() time.Time) *Strikes {
	return &Strikes{rate: rate.Limit(perSecond), burst: int(burst), now: now, keys: make(map[string]*rate.Limiter), most: leastKeys}
}

// Add counts a broken request of a key.
func (s *Strikes) Add(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keys[key]
	if l == nil {
		s.forget()
		l = rate.NewLimiter(s.rate, s.burst)
		s.keys[key] = l
	}
	l.ReserveN(s.time(), 1)
}

// leastKeys is how many keys may be remembered before any is forgotten.
const leastKeys = 1000

// forget drops keys whose limiters are full, once there are many: an issuer's subjects are unbounded. The scan costs little per
// new key, because it runs only when their number has doubled.
func (s *Strikes) forget() {
	if len(s.keys) < s.most {
		return
	}
	now := s.time()
	maps.DeleteFunc(s.keys, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(s.burst) })
	s.most = max(leastKeys, 2*len(s.keys))
}

// Out returns how long a key has to wait until another of its requests is read.
func (s *Strikes) Out(key string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keys[key]
	if l == nil {
		return 0
	}
	missing := 1 - l.TokensAt(s.time())
	return max(time.Duration(missing/float64(s.rate)*float64(time.Second)), 0)
}

// time is now, and never goes back: a Limiter would refill twice.
func (s *Strikes) time() time.Time {
	if t := s.now(); t.After(s.last) {
		s.last = t
	}
	return s.last
}
