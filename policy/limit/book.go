package limit

// book is what the scopes of one kind used and hold, by day (yyyymmdd) and by month (yyyymm), and by name.
type book [2]map[int]map[string]*tally

// tally counts what a scope used of a day or month, and what it holds.
type tally struct{ used, estimated, held Amounts }

// mostNames is how many names of a kind a day keeps apart, because clients can invent them. [Other] is that of the rest.
const mostNames = 1000

// tallies returns the tallies of a day and its month, under the name by which the day counts this name: see counts.
func (b *book) tallies(day int, name string, own bool) (in [2]*tally) {
	name = b.counts(day, name, own)
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

// counts returns the name under which a day counts a name: itself, or [Other] once the day has mostNames others. own: it is a key with quotas
// in the teams file, which always counts under itself.
func (b *book) counts(day int, name string, own bool) string {
	names := b[0][day]
	known := len(names)
	for _, special := range [...]string{"", Other} { // they need no room
		if names[special] != nil {
			known--
		}
	}
	if own || name == "" || name == Other || names[name] != nil || known < mostNames {
		return name
	}
	return Other
}

// read reads what a name used and holds on a date. A day of the month that counts it as one of the others adds what all of those used, so that
// it never passes its month.
func (b *book) read(date *Calendar, name string, own bool, to *Balance) {
	counted := b.counts(date.Day, name, own)
	to.Other, to.Used, to.Held = counted != name, [QuotaCount]int64{}, [QuotaCount]int64{}
	to.add(0, b[0][date.Day][counted])
	to.add(1, b[1][date.Month][name])
	for day := date.Month*100 + 1; name != Other && b[1][date.Month][Other] != nil && day <= date.Month*100+31; day++ {
		if b.counts(day, name, own) != name {
			to.add(1, b[0][day][Other])
		}
	}
}

// hold adds amounts to what is held on the day and in the month.
func (b *Balance) hold(amounts *Amounts) {
	for unit, n := range amounts {
		b.Held[2*unit] += n
		b.Held[2*unit+1] += n
	}
}

// add adds what was used and is held of a period, 0 for a day; nil: nothing.
func (b *Balance) add(period int, in *tally) {
	if in == nil {
		return
	}
	for unit := range in.used {
		b.Used[2*unit+period] += in.used[unit]
		b.Held[2*unit+period] += in.held[unit]
	}
}
