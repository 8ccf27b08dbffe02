package limit

import (
	"context"
	"time"

	"sluice/policy/teams"
)

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

// read fills in what a value used and holds on the state's date. Its month is the sum of its days.
func (b tagBook) read(s *State, value string) {
	s.TagUsed, s.TagHeld = [QuotaCount]int64{}, [QuotaCount]int64{}
	counted := b[s.Date.Day].counts(value)
	s.TagOther = counted != value
	for _, day := range s.Date.days() {
		if in := b[day][counted]; in != nil {
			s.addTagDay(&TagDay{Used: in.used, Held: in.held}, day == s.Date.Day)
		}
	}
}

// rows are the rows of the ledger of tags. Use without a tag is in none.
func (b tagBook) rows(team string, days []int) (rows []Row) {
	for _, day := range days {
		for value, in := range b[day] {
			if value != "" && (in.used != Amounts{} || in.estimated != Amounts{}) {
				rows = append(rows, Row{Team: team, Day: day, Tag: value, Used: in.used, Estimated: in.estimated})
			}
		}
	}
	return rows
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
