package limit

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// Whole is the part of a replica that runs without others: parts are in millionths.
const Whole = 1_000_000

// Fleet counts the requests in flight of teams and keys that have a limit on them, and holds each to this process's part of the limit.
// While Redis answers, the parts of all replicas add up to at most the whole: a part grows only by what others have given up, and
// requests that another replica still has beyond its part are subtracted. Without Redis each replica has one part in a fixed number of
// replicas. Create it with [NewFleet]; it is safe for concurrent use.
type Fleet struct {
	now    func() time.Time
	bound  int64
	grant  atomic.Pointer[grant]
	leaves atomic.Bool
	of     [ScopeKey + 1]teams.PerTeam[Slots] // teams, and keys by their ids
}

// grant is a part that Redis gave.
type grant struct {
	part   int64
	others Beyond
	until  time.Time
}

// Slots are the requests in flight of a team or key.
type Slots struct{ flying, most atomic.Int64 }

// Flight is what a process tells the other replicas about its requests in flight.
type Flight struct {
	Part   int64  `json:"part"`   // of [Whole]
	Stays  int    `json:"stays"`  // 0: the process ends and takes no more; else 1
	Bound  int64  `json:"bound"`  // the largest number of replicas
	Beyond string `json:"beyond"` // [Beyond] as JSON
}

// Beyond is what is in flight beyond the parts of replicas.
type Beyond struct {
	Teams map[string]int64 `json:"teams,omitempty"`
	Keys  map[string]int64 `json:"keys,omitempty"`
}

// NewFleet returns a fleet of at most that many replicas.
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

// Most is this process's share, rounded up, of the limit on a team's or key's requests in flight; 0: no share, or no limit.
func (f *Fleet) Most(kind ScopeKind, name string, limit int) int64 {
	g := f.current()
	return max(shareOfFlight(limit, g.part)-g.others.of(kind)[name], 0)
}

func shareOfFlight(limit int, part int64) int64 { return (int64(limit)*part + Whole - 1) / Whole }

// Flying is how many requests of a team or key with a limit on them are in flight.
func (f *Fleet) Flying(kind ScopeKind, name string) int64 { return f.of[kind].Get(name).flying.Load() }

// Take counts a request if there is room for one more, or with force, and returns the slots that count it. They are nil if there is no
// room or no limit. ok reports whether there was room.
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

// End gives the part up: no new requests are taken, and those in flight end.
func (f *Fleet) End() { f.leaves.Store(true) }

// Flight returns what the other replicas must know.
func (f *Fleet) Flight() Flight {
	flight := Flight{Part: f.current().part, Stays: 1, Bound: f.bound}
	if f.leaves.Load() {
		flight.Part, flight.Stays = 0, 0
	}
	beyond := Beyond{map[string]int64{}, map[string]int64{}}
	for kind := range f.of {
		f.of[kind].Each(func(name string, s *Slots) {
			if n := s.flying.Load() - shareOfFlight(int(s.most.Load()), flight.Part); n > 0 {
				beyond.of(ScopeKind(kind))[name] = n
			}
		})
	}
	text, _ := json.Marshal(beyond) // numbers
	flight.Beyond = string(text)
	return flight
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
