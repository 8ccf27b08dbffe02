package limit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Tag is the value of the team's tag_key that a hold is for, and whether quotas of each value counted it when it was made. The
// zero Tag has no value. A counted Tag may have the empty value: that of untagged requests.
type Tag string

// countedTag begins a Tag that was counted. No value has it.
const countedTag = "@"

// Other is the model that collects a day's use beyond 1,000 rows, and the tag that collects its use beyond 1,000 tags.
const Other = "other"

// TagOf returns the Tag of a value. counted: the team has quotas of each value.
func TagOf(value string, counted bool) Tag {
	if counted {
		return Tag(countedTag + value)
	}
	return Tag(value)
}

// Counted reports whether quotas of each value counted the hold.
func (t Tag) Counted() bool { return strings.HasPrefix(string(t), countedTag) }

// Value is the value, or empty.
func (t Tag) Value() string { return strings.TrimPrefix(string(t), countedTag) }

// TagDay is what one value of a tag used and holds of one day.
type TagDay struct {
	Day        int    // yyyymmdd
	Value      string // empty: that of requests without the tag
	Used, Held Amounts
}

// TagStandings describes how values of a tag stand to a team's quotas of each value at a moment, by what they used and hold of
// the days of [TagDays]. The standings of one value are adjacent, and the values that used the largest part of a quota are first.
// What no quota counts is left out.
func TagStandings(t *Terms, at time.Time, days []TagDay) (list []Standing) {
	date, values := CalendarOf(at), map[string]*Balance{}
	for _, d := range days {
		b := values[d.Value]
		if b == nil {
			b = new(Balance)
			values[d.Value] = b
		}
		for q := range QuotaCount {
			if q%2 == 1 || d.Day == date.Day {
				b.Used[q], b.Held[q] = b.Used[q]+d.Used[q/2], b.Held[q]+d.Held[q/2]
			}
		}
	}
	parts, scope := map[Tag]float64{}, t.Of(ScopeTag)
	for value, b := range values {
		for q, most := range scope.Quotas {
			if n := b.Used[q] + b.Held[q]; most != None && n != 0 {
				standing := b.quota(scope, q, TagOf(value, true), &date, at)
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

// TagDays lists the days, yyyymmdd, whose use counts in the team's quotas of each value at a moment: the day's, or the month's.
func TagDays(t *Terms, at time.Time) []int {
	date := CalendarOf(at)
	for q, most := range t.Of(ScopeTag).Quotas {
		if q%2 == 1 && most != None {
			days := make([]int, date.End[1].AddDate(0, 0, -1).Day())
			for i := range days {
				days[i] = date.Month*100 + i + 1
			}
			return days
		}
	}
	return []int{date.Day}
}
