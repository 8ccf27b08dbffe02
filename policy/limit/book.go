package limit

// book is what the scopes of one kind used and hold, by day (yyyymmdd) and by month (yyyymm), and by name.
type book [2]map[int]map[string]*tally

// tally counts what a scope used of a day or month, and what it holds.
type tally struct{ used, estimated, held Amounts }

// mostNames is how many names of a kind a day keeps apart, because clients can invent them. [Other] is that of the rest.
const mostNames = 1000

// tallies returns those of a day and its month for a name, under which the day counts it.
func (b *book) tallies(day int, name string) (in [2]*tally) {
	name = b.counts(day, name)
	for p, period := range [2]int{day, day / 100} {
		if b[p] == nil {
			b[p] = map[int]map[string]*tally{}
		}
		names := b[p][period]
		if names == nil {
			names = map[string]*tally{}
			b[p][period] = names
			forgetDay(b[p])
		}
		if in[p] = names[name]; in[p] == nil {
			in[p] = new(tally)
			names[name] = in[p]
		}
	}
	return in
}

// counts returns the name under which a day counts a name: once it has a thousand, further ones are one.
func (b *book) counts(day int, name string) string {
	names := b[0][day]
	known := len(names)
	for _, special := range [...]string{"", Other} { // they need no room
		if names[special] != nil {
			known--
		}
	}
	if name == "" || names[name] != nil || known < mostNames {
		return name
	}
	return Other
}

// read reads what a name used and holds on a date.
func (b *book) read(date *Calendar, name string, to *Balance) {
	counted := b.counts(date.Day, name)
	to.Other = counted != name
	for p, period := range [2]int{date.Day, date.Month} {
		if in := b[p][period][counted]; in != nil {
			for unit := range in.used {
				to.Used[2*unit+p], to.Held[2*unit+p] = in.used[unit], in.held[unit]
			}
		}
	}
}
