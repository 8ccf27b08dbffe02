package limit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Tag says for whom inside its team a hold is: by the value of the team's tag_key, and whether quotas of each value counted it when it
// was made. The zero Tag is no value. A Tag that was counted may have the empty value: that of requests without the tag.
type Tag string

// countedTag begins a Tag that was counted. No value has it.
const countedTag = "@"

// tagValues is how many values of a tag a day keeps apart, because clients can invent them.
const tagValues = 1000

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

// AsTag is the Tag of the hold.
func (h *Hold) AsTag() Tag { return TagOf(h.Tag, len(h.Team.TagQuotas) > 0) }

// TagDay is what one value of a tag used and holds of one day.
type TagDay struct {
	Day        int    // yyyymmdd
	Value      string // empty: that of requests without the tag
	Used, Held Amounts
}

// tagStanding describes one quota of each value, which has to be set, for the hold's value.
func (s *State) tagStanding(t *Terms, q int, h *Hold) Standing {
	tag := h.AsTag()
	if s.TagOther {
		tag = TagOf(Other, true)
	}
	return standingOf(t.Tags[q], q, s.TagUsed[q], s.TagHeld[q], &s.Date, s.At).by(tag)
}

func (s Standing) by(tag Tag) Standing {
	s.Tag = tag
	return s
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
		for q, most := range t.Tags {
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
	for q := range t.Tags {
		if q%2 == 1 && t.Tags[q] != None {
			return date.days()
		}
	}
	return []int{date.Day}
}

// days lists the days of the month.
func (c *Calendar) days() []int {
	days := make([]int, c.End[1].AddDate(0, 0, -1).Day())
	for i := range days {
		days[i] = c.Month*100 + i + 1
	}
	return days
}
