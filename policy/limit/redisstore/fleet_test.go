package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// partFor is that of package failover.
const partFor = 5 * time.Second

// sailor is one replica's part of a fleet.
type sailor struct {
	*limit.Fleet
	store  *Store
	last   time.Time
	slots  []*limit.Slots
	ending bool
	cut    bool
}

// harbor is a Redis with replicas that come and go.
type harbor struct {
	*rapid.T
	test  *testing.T
	clock *limittest.Clock
	bound int
	fleet []*sailor
	begin func() *Store
	n     int
}

const flyingMost = 60 // of the team

func (h *harbor) join() *sailor {
	h.n++
	s := &sailor{Fleet: limit.NewFleet(h.bound, h.clock.Now), store: h.begin()}
	s.store.Peer = Peer{ID: fmt.Sprintf("replica-%03d", h.n), Lease: 10 * time.Minute}
	s.Grant(0, limit.Beyond{}, h.clock.Now().Add(partFor))
	h.fleet = append(h.fleet, s)
	return s
}

// beat tells Redis of a replica that is not cut off.
func (h *harbor) beat(s *sailor) {
	if s.cut {
		return
	}
	begun := h.clock.Now()
	b, err := s.store.Beat(h.test.Context(), s.last, s.Flight())
	if err != nil {
		h.Fatal(err)
	}
	s.last = b.At
	s.Grant(b.Part, b.Others, begun.Add(partFor))
}

// take takes as many slots as fit.
func (h *harbor) take(s *sailor, most int) (taken int) {
	for ; taken < most; taken++ {
		slot, ok := s.Take(limit.ScopeTeam, "search", flyingMost, false)
		if !ok {
			break
		}
		s.slots = append(s.slots, slot)
	}
	return taken
}

func (s *sailor) end(n int) {
	for range min(n, len(s.slots)) {
		s.slots[0].Leave()
		s.slots = s.slots[1:]
	}
}

// keeps checks that no more is in flight than the limit, but for what rounding up adds.
func (h *harbor) keeps() {
	flying, kept := 0, 0
	for _, s := range h.fleet {
		flying += len(s.slots)
		if len(s.slots) > 0 {
			kept++
		}
	}
	if most := flyingMost + max(kept-1, 0); flying > most {
		h.Fatalf("%d are in flight, at most %d may be", flying, most)
	}
}

func sail(t *testing.T, rt *rapid.T, client redis.UniversalClient, bound int) *harbor {
	clock := limittest.NewClock()
	client.FlushDB(t.Context())
	return &harbor{T: rt, test: t, clock: clock, bound: bound, begin: func() *Store {
		store := New(client)
		store.Clock, store.Now = clock.Micros, clock.Now
		return store
	}}
}

// Replicas start, end, crash, and are cut off, and Redis loses its memory, in any order, while requests come and go: what they have in
// flight together is never more than the limit, and soon each has its part again.
func TestAFleetKeepsItsLimit(t *testing.T) {
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		h := sail(t, rt, client, rapid.IntRange(3, 8).Draw(rt, "bound"))
		for range rapid.IntRange(1, 3).Draw(rt, "first") {
			h.join()
		}
		h.rest(rapid.SampledFrom([]int{0, 4}).Draw(rt, "tens"))
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			var s *sailor
			if len(h.fleet) > 0 {
				s = rapid.SampledFrom(h.fleet).Draw(rt, "replica")
			}
			switch rapid.SampledFrom([]string{"take", "take", "take", "end", "beats", "beats", "beats", "beat", "join", "leave", "crash", "cut",
				"heal", "rest", "lose"}).Draw(rt, "step") {
			case "take":
				if s != nil && !s.ending {
					h.take(s, rapid.IntRange(1, flyingMost).Draw(rt, "n"))
				}
			case "end":
				if s != nil {
					s.end(rapid.IntRange(1, 20).Draw(rt, "n"))
				}
			case "beat":
				if s != nil {
					h.beat(s)
				}
			case "beats":
				h.second()
			case "join":
				if len(h.fleet) < h.bound {
					h.join()
				}
			case "leave":
				if s != nil && !s.cut {
					s.ending = true
					s.End()
				}
			case "crash":
				if s != nil {
					s.end(flyingMost)
					h.remove(s)
				}
			case "cut": // what it has in flight beyond the least part, when it falls back to that, ends before it counts as dead
				if s != nil && !s.ending && s.Most(limit.ScopeTeam, "search", flyingMost) >= int64(flyingMost/h.bound) { // it has begun
					s.cut = true
					for range 1 + partFor/time.Second {
						h.second()
					}
					s.end(len(s.slots) - flyingMost/h.bound)
				}
			case "rest":
				h.rest(rapid.IntRange(1, 4).Draw(rt, "tens"))
			// Redis loses its memory, what is in flight beyond parts too, and one replica, perhaps a new one, is heard before the others
			case "lose":
				if s != nil && !s.ending && !h.anyCut() {
					h.rest(0)
					h.noneBeyond()
					client.FlushDB(t.Context())
					if len(h.fleet) < h.bound && rapid.Bool().Draw(rt, "new") {
						s = h.join()
					}
					h.beat(s)
					h.take(s, flyingMost)
					h.rest(0)
				}
			case "heal":
				if s != nil {
					s.cut = false
				}
			}
			h.keeps()
		}
		h.settles()
	})
}

func (h *harbor) anyCut() bool {
	return slices.ContainsFunc(h.fleet, func(s *sailor) bool { return s.cut })
}

// noneBeyond ends what replicas have in flight beyond their parts.
func (h *harbor) noneBeyond() {
	for _, s := range h.fleet {
		most := int(s.Most(limit.ScopeTeam, "search", flyingMost))
		if s.ending {
			most = 0
		}
		s.end(len(s.slots) - most)
	}
}

func (h *harbor) remove(s *sailor) {
	for i := range h.fleet {
		if h.fleet[i] == s {
			h.fleet = append(h.fleet[:i], h.fleet[i+1:]...)
			return
		}
	}
}

// second lets each replica beat, and those end that have nothing in flight and have said so.
func (h *harbor) second() {
	h.clock.Move(time.Second)
	for _, s := range append([]*sailor(nil), h.fleet...) {
		h.beat(s)
		if s.ending && len(s.slots) == 0 {
			if err := Leave(h.test.Context(), s.store); err != nil {
				h.Fatal(err)
			}
			h.remove(s)
		}
	}
	h.keeps()
}

// rest lets so many times ten seconds pass, and three more.
func (h *harbor) rest(tens int) {
	for range tens {
		h.clock.Move(9 * time.Second)
		h.second()
	}
	for range 3 {
		h.second()
	}
}

// settles checks that all of the limit can be used once everything is quiet for longer than a dead replica is remembered.
func (h *harbor) settles() {
	for _, s := range h.fleet {
		s.cut = false
		s.end(flyingMost)
	}
	h.second()
	if len(h.fleet) == 0 {
		h.join()
	}
	h.rest(4)
	h.clock.Move(10 * time.Minute)
	h.rest(4)
	for _, s := range h.fleet {
		h.take(s, flyingMost)
	}
	h.keeps()
	flying := 0
	for _, s := range h.fleet {
		flying += len(s.slots)
	}
	if flying < flyingMost {
		h.Fatalf("%d replicas have %d in flight, want %d", len(h.fleet), flying, flyingMost)
	}
}

// Three replicas become ten and two. Within three beats each has its part, and nothing passes the limit meanwhile.
func TestThreeReplicasBecomeTenAndTwo(t *testing.T) {
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		h := sail(t, rt, client, 10)
		parts := func(n int) {
			for _, s := range h.fleet {
				if most := s.Most(limit.ScopeTeam, "search", flyingMost); most != int64((flyingMost+n-1)/n) {
					h.Fatalf("of %d replicas one may have %d in flight", n, most)
				}
			}
		}
		for range 3 {
			h.join()
		}
		h.rest(4) // a new Redis: not all were heard
		parts(3)
		for range 7 {
			h.join()
		}
		for range 3 {
			h.second()
		}
		parts(10)
		for _, s := range h.fleet[2:] {
			s.ending = true
			s.End()
		}
		for range 3 {
			h.second()
		}
		parts(2)
	})
}

// A part grows by nothing that another may still have: one that starts, one that is cut off, and one that was not heard since Redis lost
// its memory.
func TestAPartGrowsByWhatIsFree(t *testing.T) {
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		h := sail(t, rt, client, 4)
		first := h.join()
		h.rest(4)
		h.take(first, flyingMost)
		second := h.join()
		h.beat(second)
		if n := h.take(second, flyingMost); n > 0 {
			h.Fatalf("one that starts takes %d beside the whole", n)
		}
		first.end(flyingMost)
		h.rest(0)
		h.take(second, flyingMost)
		client.FlushDB(t.Context())
		h.beat(first)
		h.take(first, flyingMost)
		h.keeps()
		h.rest(4)
		second.cut = true
		h.rest(4)
		second.end(flyingMost/2 - flyingMost/4)
		first.end(flyingMost)
		h.take(first, flyingMost)
		h.keeps()
	})
}

// While a replica of an older version runs, which tells no part, each has that of a fixed number; and one that is cut off falls back to it.
func TestPartsOfAFixedNumber(t *testing.T) {
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		h := sail(t, rt, client, 4)
		s := h.join()
		h.rest(4)
		if most := s.Most(limit.ScopeTeam, "search", flyingMost); most != flyingMost {
			h.Fatalf("one alone may have %d", most)
		}
		h.clock.Move(partFor + time.Second)
		if most := s.Most(limit.ScopeTeam, "search", flyingMost); most != flyingMost/4 {
			h.Fatalf("one that is cut off may have %d", most)
		}
		s.store.client.HSet(t.Context(), replicasKey, "of-an-older-version", h.clock.Micros())
		h.join()
		h.second()
		for _, s := range h.fleet {
			if most := s.Most(limit.ScopeTeam, "search", flyingMost); most != flyingMost/4 {
				h.Fatalf("beside an older version one may have %d", most)
			}
		}
	})
}
