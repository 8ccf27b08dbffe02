package limit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/policy/teams"
)

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
