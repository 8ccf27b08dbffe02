package limit

import (
	"maps"
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
	keys map[string]*bucket
	most int // keys at which those that sent nothing broken lately are forgotten
	last time.Time
}

// NewStrikes allows each key so many broken requests a second, and a burst of them.
func NewStrikes(perSecond, burst int64, now func() time.Time) *Strikes {
	return &Strikes{
		rate: teams.Rate{Unit: teams.UnitRequests, Per: time.Second, Limit: perSecond, Burst: burst},
		now:  now, keys: make(map[string]*bucket), most: leastKeys,
	}
}

// Add counts a broken request of a key.
func (s *Strikes) Add(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.keys[key]
	if b == nil {
		s.forget()
		b = newBucket(s.rate, false, s.last)
		s.keys[key] = b
	}
	b.take(1, s.time())
}

// leastKeys is how many keys may be remembered before any is forgotten.
const leastKeys = 1000

// forget drops keys whose buckets are full, once there are many: the subjects of an issuer have no end. Looking at all of them
// costs little for each new one, because it happens when their number has doubled.
func (s *Strikes) forget() {
	if len(s.keys) < s.most {
		return
	}
	now := s.time()
	maps.DeleteFunc(s.keys, func(_ string, b *bucket) bool { return b.missing(now) == 0 })
	s.most = max(leastKeys, 2*len(s.keys))
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
