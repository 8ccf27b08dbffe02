package limit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/policy/teams"
)

// Tag says for whom inside its team a hold is: by the value of the team's tag_key, and whether quotas of each value counted it when it
// was made. The zero Tag is no value. A Tag that was counted may have the empty value: that of requests without the tag.
type Tag string

// countedTag begins a Tag that was counted. No value has it.
const countedTag = "@"

// tagValues is how many values of a tag a day keeps apart, because clients can invent them. [Other] is that of the rest.
const tagValues = 1000

// Other is the model of what is used once a day has a thousand rows, and the tag of what is used once it has a thousand tags.
const Other = "other"

// TagOf returns the Tag of a value. counted says that the team has quotas of each value.
func TagOf(value string, counted bool) Tag {
	if counted {
		return Tag(countedTag + value)
	}
	return Tag(value)
}

// Counted reports whether quotas of each value counted the hold.
func (t Tag) Counted() bool { return strings.HasPrefix(string(t), countedTag) }

// Value is the value; empty: there is none.
func (t Tag) Value() string { return strings.TrimPrefix(string(t), countedTag) }

// tagBook is a team's use and holds by day and value of its tag, in memory.
type tagBook map[int]tagDay

// tagDay is one day's, by value; the empty one is that of requests without the tag.
type tagDay map[string]*tagTally

type tagTally struct{ used, estimated, held Amounts }

// on returns a day.
func (b tagBook) on(day int) tagDay {
	if b[day] == nil {
		b[day] = tagDay{}
		forgetDay(b)
	}
	return b[day]
}

// counts returns the value under which a day counts a value: once it has a thousand, further ones are one.
func (d tagDay) counts(value string) string {
	known := len(d)
	for _, special := range [...]string{"", Other} { // they need no room
		if d[special] != nil {
			known--
		}
	}
	if value == "" || d[value] != nil || known < tagValues {
		return value
	}
	return Other
}

func (d tagDay) tally(value string) *tagTally {
	value = d.counts(value)
	if d[value] == nil {
		d[value] = new(tagTally)
	}
	return d[value]
}

// read returns what a value used and holds on a day, and on all days of its month, and whether it is counted as one of the others.
func (b tagBook) read(date *Calendar, value string) (today, month tagTally, other bool) {
	counted := b[date.Day].counts(value)
	for _, day := range date.days() {
		in := b[day][counted]
		if in == nil {
			continue
		}
		if day == date.Day {
			today = *in
		}
		month.used, month.held = month.used.Plus(in.used), month.held.Plus(in.held)
	}
	return today, month, counted != value
}

// TagDay is what one value of a tag used and holds of one day.
type TagDay struct {
	Day        int    // yyyymmdd
	Value      string // empty: that of requests without the tag
	Used, Held Amounts
}

// TagStandings describes how values of a tag stand to a team's quotas of each value at a moment, by what they used and hold of the days
// of [TagDays]. Those of one value are together, and the values that used the largest part of one of them are first. What no quota
// counts is left out.
func TagStandings(t *Terms, at time.Time, days []TagDay) (list []Standing) {
	date, states := CalendarOf(at), map[string]*State{}
	for i := range days {
		d := &days[i]
		if states[d.Value] == nil {
			states[d.Value] = new(State)
		}
		states[d.Value].addTagDay(d, d.Day == date.Day)
	}
	parts := map[Tag]float64{}
	for value, s := range states {
		for q, most := range t.TagQuotas {
			if n := s.TagUsed[q] + s.TagHeld[q]; most != None && n != 0 {
				standing := standingOf(most, q, s.TagUsed[q], s.TagHeld[q], &date, at).by(TagOf(value, true))
				parts[standing.Tag] = max(parts[standing.Tag], float64(n)/float64(max(most, 1)))
				list = append(list, standing)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(parts[b.Tag], parts[a.Tag]), strings.Compare(string(a.Tag), string(b.Tag)))
	})
	return list
}

// addTagDay adds what the value used and holds on a day of the month.
func (s *State) addTagDay(d *TagDay, today bool) {
	for unit := range d.Used {
		if today {
			s.TagUsed[2*unit], s.TagHeld[2*unit] = d.Used[unit], d.Held[unit]
		}
		s.TagUsed[2*unit+1] += d.Used[unit]
		s.TagHeld[2*unit+1] += d.Held[unit]
	}
}

// TagDays lists the days, yyyymmdd, whose use counts in the team's quotas of each value at a moment: the day's, or the month's.
func TagDays(t *Terms, at time.Time) []int {
	date := CalendarOf(at)
	for q := range t.TagQuotas {
		if q%2 == 1 && t.TagQuotas[q] != None {
			return date.days()
		}
	}
	return []int{date.Day}
}

// LookTags reports how each value of the team's tag stands to its quotas, as [TagStandings] does. It takes nothing.
func (m *Memory) LookTags(_ context.Context, team *teams.Team, at time.Time) ([]Standing, error) {
	t, a := TermsOf(team), m.account(team.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	var days []TagDay
	for _, day := range TagDays(&t, at) {
		for value, in := range a.tags[day] {
			days = append(days, TagDay{Day: day, Value: value, Used: in.used, Held: in.held})
		}
	}
	return TagStandings(&t, at, days), nil
}
