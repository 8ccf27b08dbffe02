package recent

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// maxKept bounds the minutes of teams in the memory form; the oldest hours are dropped first.
const maxKept = 200_000

// Memory is the store of a single process. Create it with [NewMemory]. It is safe for concurrent use.
type Memory struct {
	now func() time.Time

	mu    sync.Mutex
	hours map[hourOf]*keptHour
	size  int // minutes in hours

	measured map[time.Time]*measuredHour // by the hour's beginning

	lines []Line // kept, sorted, with fields; the slice is replaced, never changed
	fresh []Line // posted since lines was last replaced
}

// keptHour is an hour of a team.
type keptHour struct {
	minutes map[int]*Counts
	last    map[string]int64 // number of the last post, by process
}

// NewMemory returns an empty store.
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

// keep adds the lines of a post. They are sorted only when a page is read, because sorting at each post would delay requests. Until
// then up to three times MostLines stay, cut to twice the bounds by the order of posts.
func (m *Memory) keep(lines []Line) {
	if m.fresh = append(m.fresh, lines...); len(m.fresh) > 3*MostLines {
		m.fresh = last(m.fresh, 2)
	}
}

// sorted returns the kept lines, oldest first.
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

// expire drops hours older than Kept, and the oldest if there are too many.
func (m *Memory) expire() {
	m.drop(m.now().Add(-Kept).Unix() / 3600)
	for m.size > maxKept {
		oldest := int64(math.MaxInt64)
		for of := range m.hours {
			oldest = min(oldest, of.hour)
		}
		m.drop(oldest + 1)
	}
}

// drop drops the hours before first.
func (m *Memory) drop(first int64) {
	for of, h := range m.hours {
		if of.hour < first {
			m.size -= len(h.minutes)
			delete(m.hours, of)
		}
	}
}

// Minutes returns the counts of teams in the minutes that begin in [from, to), by team and time. Minutes without requests are left out.
// The team "" is all requests together.
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

// Day returns the counts of teams on the day of at, in UTC, by team. Teams without requests are left out.
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

// hoursOf returns the hours of teams that overlap with a span.
func hoursOf(teams []string, from, to time.Time) (list []hourOf) {
	for _, team := range teams {
		for at := from.Truncate(time.Hour); at.Before(to); at = at.Add(time.Hour) {
			list = append(list, hourOf{team, at.Unix() / 3600})
		}
	}
	return list
}

// minute returns a Minute with a copy of the counts.
func (of hourOf) minute(minute int, c *Counts) Minute {
	m := Minute{Team: of.team, At: of.begins().Add(time.Duration(minute) * time.Minute)}
	m.Add(c)
	return m
}

// between sorts minutes, and drops those outside a span.
func between(list []Minute, from, to time.Time) []Minute {
	list = slices.DeleteFunc(list, func(m Minute) bool { return m.At.Before(from) || !m.At.Before(to) })
	sortMinutes(list)
	return list
}
