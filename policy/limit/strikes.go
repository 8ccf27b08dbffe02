package limit

import (
	"sync"
	"time"

	"sluice/policy/teams"
)

// Strikes slows down keys that send broken requests: those cost a team nothing, and this process time. It is in memory only: each
// process defends itself.
type Strikes struct {
	rate teams.Rate
	now  func() time.Time
	mu   sync.Mutex
	keys map[string]*bucket // grows with the teams file
	last time.Time
}

// NewStrikes allows each key so many broken requests a second, and a burst of them.
func NewStrikes(perSecond, burst int64, now func() time.Time) *Strikes {
	return &Strikes{
		rate: teams.Rate{Unit: teams.UnitRequests, Per: time.Second, Limit: perSecond, Burst: burst},
		now:  now, keys: make(map[string]*bucket),
	}
}

// Add counts a broken request of a key.
func (s *Strikes) Add(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.keys[key]
	if b == nil {
		b = newBucket(s.rate, false, s.last)
		s.keys[key] = b
	}
	b.take(1, s.time())
}

// Out returns how long a key has to wait until another of its requests is read.
func (s *Strikes) Out(key string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.keys[key]
	if b == nil {
		return 0
	}
	return b.wait(1, b.missing(s.time()))
}

func (s *Strikes) time() time.Time {
	if t := s.now(); t.After(s.last) {
		s.last = t
	}
	return s.last
}
