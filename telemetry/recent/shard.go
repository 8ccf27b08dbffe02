package recent

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// blocksAtOnce is how many blocks are read before the goroutine yields to requests: half a millisecond. The scheduler would
// preempt it only after ten.
const blocksAtOnce = 8

// shards spread the collected data: each call takes a random one, so cores seldom contend, as they would for a single lock or queue.
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

// take returns a shard, locked. It skips locked ones, because their goroutines may have lost their cores.
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

// noted are the counts of a team in a minute, and how many of its lines were added to the lists of teams.
type noted struct {
	lines int // first, in the same cache line as the counters of each request
	Counts
}

// The lists of a shard. Once a team has its part of the first, its lines go to the second, so that the first has room for other teams.
const (
	ofTeams = iota
	beyondPart
	ofNoTeam
	lists
)

// shard holds a part of the data since the last post.
type shard struct {
	mu        sync.Mutex
	minutes   map[minuteOf]*noted
	latencies map[measuredOf]*measured
	part      int // lines of a team and minute in the first list: half of its share, because a post may span two minutes
	lines     [lists]lastLines
	_         [64]byte // keeps the next shard out of this one's cache line
}

func (s *shard) counts(of minuteOf) *noted {
	c := s.minutes[of]
	if c == nil {
		c = new(noted)
		s.minutes[of] = c
	}
	return c
}

// listFor returns the list for the next line of a team.
func (s *shard) listFor(team string, c *noted) *lastLines {
	if team == "" {
		return &s.lines[ofNoTeam]
	}
	if c.lines++; c.lines > s.part {
		return &s.lines[beyondPart]
	}
	return &s.lines[ofTeams]
}

// drain empties the shards, one after another. It passes their counts and histograms to the functions, which must not retain them, and
// appends the last lines of each. lost reports that there were more lines without a team than are kept.
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
			over := max(first, len(lines)-s.list[i].lines[list].most) // the list may hold a block more than that
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
