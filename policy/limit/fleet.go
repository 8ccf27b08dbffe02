package limit

import (
	"encoding/json"
	"sync/atomic"
	"time"
)

// Whole is the part of what may be in flight that one replica alone has.
const Whole = 1_000_000

// Fleet counts this process's requests in flight of teams and keys with a limit on them, and bounds them by its part of what all replicas
// together may have. While Redis answers, the parts of all replicas add up to at most the whole: a part grows only by what others have
// given up, and requests that another replica still has beyond its part are subtracted. Without Redis each has the part of a fixed number
// of replicas. Create it with [NewFleet]; it is safe for concurrent use.
type Fleet struct {
	now    func() time.Time
	bound  int64
	grant  atomic.Pointer[grant]
	leaves atomic.Bool
	of     [ScopeKey + 1]PerTeam[Slots] // teams, and keys by their ids
}

// grant is a part that Redis gave.
type grant struct {
	part   int64
	others Beyond
	until  time.Time
}

// Slots are the requests in flight of a team or key.
type Slots struct{ flying, most atomic.Int64 }

// Flight is what a process shares with the others about its requests in flight.
type Flight struct {
	Part   int64  `json:"part"`
	Stays  int    `json:"stays"`
	Bound  int64  `json:"bound"`
	Beyond string `json:"beyond"`
}

// Beyond is what is in flight beyond the parts of replicas.
type Beyond struct {
	Teams map[string]int64 `json:"teams,omitempty"`
	Keys  map[string]int64 `json:"keys,omitempty"`
}

// NewFleet returns a fleet of so many replicas at most.
func NewFleet(replicas int, now func() time.Time) *Fleet {
	f := &Fleet{now: now, bound: int64(max(replicas, 1))}
	f.grant.Store(&grant{part: Whole / f.bound})
	return f
}

// current is the part that holds now.
func (f *Fleet) current() *grant {
	if g := f.grant.Load(); g.until.IsZero() || !f.now().After(g.until) {
		return g
	}
	return &grant{part: Whole / f.bound}
}

// Most is this process's share of what a team or key may have in flight, of all replicas' limit, rounded up; 0: none, or no limit.
func (f *Fleet) Most(kind ScopeKind, name string, limit int) int64 {
	g := f.current()
	return max(shareOfFlight(limit, g.part)-g.others.of(kind)[name], 0)
}

func shareOfFlight(limit int, part int64) int64 { return (int64(limit)*part + Whole - 1) / Whole }

// Flying is how many requests of a team or key with a limit on them are in flight.
func (f *Fleet) Flying(kind ScopeKind, name string) int64 { return f.of[kind].Get(name).flying.Load() }

// Take counts a request, if there is room for one more or it is forced, and returns what it is counted in; nil: there is none, or no limit.
func (f *Fleet) Take(kind ScopeKind, name string, limit int, force bool) (s *Slots, ok bool) {
	if limit == 0 {
		return nil, true
	}
	s = f.of[kind].Get(name)
	s.most.Store(int64(limit))
	for most := f.Most(kind, name, limit); ; {
		n := s.flying.Load()
		if n >= most && !force {
			return nil, false
		}
		if s.flying.CompareAndSwap(n, n+1) {
			return s, n < most
		}
	}
}

// Leave ends a request.
func (s *Slots) Leave() { s.flying.Add(-1) }

// End gives the part up: what is in flight ends, and no more is taken.
func (f *Fleet) End() { f.leaves.Store(true) }

// Flight is what the others have to know.
func (f *Fleet) Flight() Flight {
	told := Flight{Part: f.current().part, Stays: 1, Bound: f.bound}
	if f.leaves.Load() {
		told.Part, told.Stays = 0, 0
	}
	beyond := Beyond{map[string]int64{}, map[string]int64{}}
	for kind := range f.of {
		f.of[kind].Each(func(name string, s *Slots) {
			if n := s.flying.Load() - shareOfFlight(int(s.most.Load()), told.Part); n > 0 {
				beyond.of(ScopeKind(kind))[name] = n
			}
		})
	}
	text, _ := json.Marshal(beyond) // numbers
	told.Beyond = string(text)
	return told
}

// Grant sets this process's part until a time, and what the others have beyond theirs.
func (f *Fleet) Grant(part int64, others Beyond, until time.Time) {
	f.grant.Store(&grant{part, others, until})
}

// Granted reports whether the process has a part.
func (f *Fleet) Granted() bool { return f.current().part > 0 }

func (b *Beyond) of(kind ScopeKind) map[string]int64 {
	if kind == ScopeKey {
		return b.Keys
	}
	return b.Teams
}

// Add adds what another replica shared.
func (b *Beyond) Add(text string) {
	var more Beyond
	if json.Unmarshal([]byte(text), &more) != nil {
		return
	}
	for _, sums := range [...]struct {
		to   *map[string]int64
		from map[string]int64
	}{{&b.Teams, more.Teams}, {&b.Keys, more.Keys}} {
		if *sums.to == nil && len(sums.from) > 0 {
			*sums.to = map[string]int64{}
		}
		for name, n := range sums.from {
			(*sums.to)[name] += n
		}
	}
}
