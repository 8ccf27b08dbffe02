package limit

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
