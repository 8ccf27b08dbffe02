package recent

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// mostKept is how many minutes of teams the memory form keeps at most; beyond it the oldest hours are dropped first.
const mostKept = 200_000

// Memory keeps what one process did. Its zero value is not usable; create it with [NewMemory]. It is safe for concurrent use.
type Memory struct {
	now func() time.Time

	mu    sync.Mutex
	hours map[hourOf]*keptHour
	size  int // minutes in hours

	measured map[time.Time]*measuredHour // by when the hour begins

	lines []Line // that are kept, sorted and read; never changed, only replaced
	fresh []Line // posted since the lines were last read
}

// keptHour is an hour of a team.
type keptHour struct {
	minutes map[int]*Counts
	last    map[string]int64 // number of the last post, by process
}

// NewMemory returns an empty store. now is the clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, hours: map[hourOf]*keptHour{}, measured: map[time.Time]*measuredHour{}}
}

// Post implements [Store].
func (m *Memory) Post(_ context.Context, p *Post) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range p.Hours {
		m.add(p.From, h)
		h.Stored = true
	}
	m.measure(p)
	m.keep(p.Lines)
	p.Kept = true
	m.expire()
	return nil
}

// keep keeps the lines of a post. They are sorted only when read, because sorting at each post would delay requests. Until then
// twice as many stay as are kept, by the order of posts.
func (m *Memory) keep(lines []Line) {
	if m.fresh = append(m.fresh, lines...); len(m.fresh) > 3*MostLines {
		m.fresh = last(m.fresh, 2)
	}
}

// sorted returns the lines, oldest first.
func (m *Memory) sorted() []Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.fresh) > 0 {
		m.lines, m.fresh = newest(slices.Concat(m.lines, read(m.fresh))), nil
	}
	return m.lines
}

func (m *Memory) add(from string, h *Hour) {
	of := hourOf{h.Team, h.Begins.Unix() / 3600}
	kept := m.hours[of]
	if kept == nil {
		kept = &keptHour{map[int]*Counts{}, map[string]int64{}}
		m.hours[of] = kept
	}
	if kept.last[from] >= h.Number {
		return
	}
	kept.last[from] = h.Number
	for minute, c := range h.Minutes {
		if kept.minutes[minute] == nil {
			kept.minutes[minute] = new(Counts)
			m.size++
		}
		kept.minutes[minute].Add(c)
	}
}

// expire drops hours that are too old, and the oldest if there are too many.
func (m *Memory) expire() {
	m.drop(m.now().Add(-Kept).Unix() / 3600)
	for m.size > mostKept {
		oldest := int64(math.MaxInt64)
		for of := range m.hours {
			oldest = min(oldest, of.hour)
		}
		m.drop(oldest + 1)
	}
}

// drop drops the hours before one.
func (m *Memory) drop(first int64) {
	for of, h := range m.hours {
		if of.hour < first {
			m.size -= len(h.minutes)
			delete(m.hours, of)
		}
	}
}

// Minutes returns what the teams did in the minutes that begin from one time on and before another, by team and time. A minute
// without a request is left out. An empty name is all requests together.
func (m *Memory) Minutes(_ context.Context, teams []string, from, to time.Time) (list []Minute, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range hoursOf(teams, from, to) {
		if h := m.hours[of]; h != nil {
			for minute, c := range h.minutes {
				list = append(list, of.minute(minute, c))
			}
		}
	}
	return between(list, from, to), nil
}

// Day returns what teams did on the day of a moment, in UTC, by their names. A team without a request is left out.
func (m *Memory) Day(ctx context.Context, teams []string, at time.Time) (map[string]Counts, error) {
	begins := at.UTC().Truncate(24 * time.Hour)
	minutes, err := m.Minutes(ctx, teams, begins, begins.Add(24*time.Hour))
	days := map[string]Counts{}
	for i := range minutes {
		c := days[minutes[i].Team]
		c.Add(&minutes[i].Counts)
		days[minutes[i].Team] = c
	}
	return days, err
}

// Requests returns a page of the last requests.
func (m *Memory) Requests(_ context.Context, f Filter) (Page, error) {
	return f.page(m.sorted())
}

// hoursOf lists the hours of teams that have minutes of a span.
func hoursOf(teams []string, from, to time.Time) (list []hourOf) {
	for _, team := range teams {
		for at := from.Truncate(time.Hour); at.Before(to); at = at.Add(time.Hour) {
			list = append(list, hourOf{team, at.Unix() / 3600})
		}
	}
	return list
}

// minute makes a Minute of counts, which it copies.
func (of hourOf) minute(minute int, c *Counts) Minute {
	m := Minute{Team: of.team, At: of.begins().Add(time.Duration(minute) * time.Minute)}
	m.Add(c)
	return m
}

// between sorts minutes, and leaves those of a span.
func between(list []Minute, from, to time.Time) []Minute {
	list = slices.DeleteFunc(list, func(m Minute) bool { return m.At.Before(from) || !m.At.Before(to) })
	sortMinutes(list)
	return list
}
