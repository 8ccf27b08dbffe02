package recent

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// MostLines is how many requests are kept, of all replicas together.
const MostLines = 10_000

// blocksAtOnce is how many blocks are read before requests have their turn: half a millisecond. The runtime itself would let
// them wait for ten.
const blocksAtOnce = 8

// shards take what the process does. Each call takes one of them at random, so cores seldom meet, as they would at one lock or at
// one queue.
type shards struct {
	list []shard
	mask uint32
}

// newShards makes twice as many shards as there are cores, rounded up to a power of two.
func newShards() *shards {
	n := 1
	for n < 2*runtime.GOMAXPROCS(0) {
		n *= 2
	}
	s := &shards{list: make([]shard, n), mask: uint32(n - 1)}
	for i := range s.list {
		s.list[i].minutes, s.list[i].lines.most = map[minuteOf]*Counts{}, max(MostLines/n, 1)
	}
	return s
}

// take returns a shard, locked. It passes by one that is locked, because its owner may have lost its core.
func (s *shards) take() *shard {
	first := rand.Uint32()
	for i := range uint32(len(s.list)) {
		if of := &s.list[(first+i)&s.mask]; of.mu.TryLock() {
			return of
		}
	}
	of := &s.list[first&s.mask]
	of.mu.Lock()
	return of
}

// minuteOf names what is counted together: a team's requests of a minute, counted from 1970.
type minuteOf struct {
	team   string
	minute int64
}

func minute(at time.Time) int64 { return at.Unix() / 60 }

// shard is a part of what was not taken out yet.
type shard struct {
	mu      sync.Mutex
	minutes map[minuteOf]*Counts
	lines   lastLines
	_       [64]byte // no other shard in the same line of the processor's cache
}

func (s *shard) counts(of minuteOf) *Counts {
	c := s.minutes[of]
	if c == nil {
		c = new(Counts)
		s.minutes[of] = c
	}
	return c
}

// drain empties the shards, one after another. It hands over their counts, which are valid during the call, and appends the last
// lines of each.
func (s *shards) drain(counted func(of minuteOf, c *Counts), lines []Line) []Line {
	for i := range s.list {
		minutes, blocks := s.list[i].empty()
		for of, c := range minutes {
			counted(of, c)
		}
		first := len(lines)
		for j, b := range blocks {
			if lines = b.appendTo(lines); j%blocksAtOnce == blocksAtOnce-1 {
				time.Sleep(time.Millisecond)
			}
		}
		lines = slices.Delete(lines, first, max(first, len(lines)-s.list[i].lines.most)) // a block more than that may have come
		s.list[i].reuse(blocks)
	}
	return lines
}

func (s *shard) empty() (minutes map[minuteOf]*Counts, lines []*block) {
	fresh := map[minuteOf]*Counts{}
	s.mu.Lock()
	defer s.mu.Unlock()
	minutes, s.minutes = s.minutes, fresh
	return minutes, s.lines.empty()
}

func (s *shard) reuse(lines []*block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.reuse(lines)
}
