package recent

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// blocksAtOnce is how many blocks are read before requests have their turn: half a millisecond. The runtime itself would let
// them wait for ten.
const blocksAtOnce = 8

// shards take what the process does. Each call takes one of them at random, so cores seldom contend, as they would for one lock
// or one queue.
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
		of := &s.list[i]
		of.minutes, of.latencies, of.part = map[minuteOf]*noted{}, map[measuredOf]*measured{}, max(MostOfTeam/n/2, 1)
		of.lines[ofTeams].most, of.lines[beyondPart].most = max(MostLines/n, 1), max(MostLines/n, 1)
		of.lines[ofNoTeam].most = (MostUnknown + n - 1) / n
	}
	return s
}

// take returns a shard, locked. It skips a locked one, because its owner may have lost its core.
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

// noted is what a team did in a minute, and how many lines of it were kept in lists of teams.
type noted struct {
	lines int // first, beside what each request counts
	Counts
}

// The lists of a shard. A team's lines go to the second one once it has its part of the first, which is left to teams with fewer.
const (
	ofTeams = iota
	beyondPart
	ofNoTeam
	lists
)

// shard holds a part of what was not taken out yet.
type shard struct {
	mu      sync.Mutex
	minutes map[minuteOf]*noted
	// latencies are what was measured.
	latencies map[measuredOf]*measured
	part      int // lines of a team and minute in the first list: half of its share, because two minutes may meet
	lines     [lists]lastLines
	_         [64]byte // no other shard in the same line of the processor's cache
}

func (s *shard) counts(of minuteOf) *noted {
	c := s.minutes[of]
	if c == nil {
		c = new(noted)
		s.minutes[of] = c
	}
	return c
}

// listFor is the list for the next line of a team.
func (s *shard) listFor(team string, c *noted) *lastLines {
	if team == "" {
		return &s.lines[ofNoTeam]
	}
	if c.lines++; c.lines > s.part {
		return &s.lines[beyondPart]
	}
	return &s.lines[ofTeams]
}

// drain empties the shards, one after another. It hands over their counts, which are valid during the call, and appends the last
// lines of each. lost reports that there were more lines without a team than are kept.
func (s *shards) drain(counted func(of minuteOf, c *Counts), timed func(of measuredOf, m *measured), lines []Line) (_ []Line, lost bool) {
	for i := range s.list {
		minutes, latencies, blocks := s.list[i].empty()
		for of, m := range latencies {
			timed(of, m)
		}
		for of, c := range minutes {
			counted(of, &c.Counts)
		}
		for list := range blocks {
			first := len(lines)
			for j, b := range blocks[list] {
				if lines = b.appendTo(lines); j%blocksAtOnce == blocksAtOnce-1 {
					time.Sleep(time.Millisecond)
				}
			}
			over := max(first, len(lines)-s.list[i].lines[list].most) // a block more than that is possible
			lost = lost || list == ofNoTeam && over > first
			lines = slices.Delete(lines, first, over)
		}
		s.list[i].reuse(blocks)
	}
	return lines, lost
}

func (s *shard) empty() (minutes map[minuteOf]*noted, latencies map[measuredOf]*measured, lines [lists][]*block) {
	fresh, untimed := map[minuteOf]*noted{}, map[measuredOf]*measured{}
	s.mu.Lock()
	defer s.mu.Unlock()
	minutes, s.minutes = s.minutes, fresh
	latencies, s.latencies = s.latencies, untimed
	for i := range lines {
		lines[i] = s.lines[i].empty()
	}
	return minutes, latencies, lines
}

func (s *shard) reuse(lines [lists][]*block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range lines {
		s.lines[i].reuse(lines[i])
	}
}
