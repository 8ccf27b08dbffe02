package limit

// book is what the scopes of one kind used and hold, by day (yyyymmdd) and by month (yyyymm), and by name.
type book [2]map[int]map[string]*tally

// tally counts what a scope used of a day or month, and what it holds.
type tally struct {
	used, estimated, held Amounts
	month                 *tally // of a day: that of its month
}

// hold adds amounts to what is held on the day and in its month.
func (t *tally) hold(amounts *Amounts) {
	for u, n := range amounts {
		t.held[u], t.month.held[u] = t.held[u]+n, t.month.held[u]+n
	}
}

// use adds amounts to what is used on the day and in its month, and to the estimated part of that.
func (t *tally) use(amounts, estimated *Amounts) {
	for u, n := range amounts {
		t.used[u], t.month.used[u] = t.used[u]+n, t.month.used[u]+n
		t.estimated[u], t.month.estimated[u] = t.estimated[u]+estimated[u], t.month.estimated[u]+estimated[u]
	}
}

// mostNames bounds the names of a kind that a day counts separately, because clients can invent them. [Other] collects the rest.
const mostNames = 1000

// tally returns the tally of a day that counts a name: see countedAs.
func (b *book) tally(day int, name string, own bool) *tally {
	name = b.countedAs(day, name, own)
	in := b.in(0, day, name)
	if in.month == nil {
		in.month = b.in(1, day/100, name)
	}
	return in
}

// in returns the tally of a name in a day (period 0) or a month (period 1).
func (b *book) in(period, number int, name string) *tally {
	names := b[period][number]
	if names == nil {
		if b[period] == nil {
			b[period] = map[int]map[string]*tally{}
		}
		names = map[string]*tally{}
		b[period][number] = names
		forgetDay(b[period])
	}
	if names[name] == nil {
		names[name] = new(tally)
	}
	return names[name]
}

// countedAs returns the name under which a day counts a name: itself, or [Other] once the day has mostNames others. own: it is a key
// with quotas in the teams file, which always counts under itself.
func (b *book) countedAs(day int, name string, own bool) string {
	names := b[0][day]
	if own || name == "" || name == Other || names[name] != nil {
		return name
	}
	known := len(names)
	for _, special := range [...]string{"", Other} { // they do not count towards the bound
		if names[special] != nil {
			known--
		}
	}
	if known < mostNames {
		return name
	}
	return Other
}

// read adds what a name used and holds on a date to a zero Balance, and returns the tally of the day that counts it; nil: none yet. A day
// of the month that counts the name under [Other] adds all that Other used, so that the name never passes its month.
func (b *book) read(date *Calendar, name string, own bool, to *Balance) (in *tally) {
	if in = b[0][date.Day][name]; in != nil {
		to.add(0, in)
		to.add(1, in.month)
	} else {
		counted := b.countedAs(date.Day, name, own)
		in, to.Other = b[0][date.Day][counted], counted != name
		to.add(0, in)
		to.add(1, b[1][date.Month][name])
	}
	if own || name == "" || name == Other || b[1][date.Month][Other] == nil { // no day counts it under Other
		return in
	}
	for day := date.Month*100 + 1; day <= date.Month*100+31; day++ {
		if b.countedAs(day, name, own) != name {
			to.add(1, b[0][day][Other])
		}
	}
	return in
}

// hold adds amounts to what is held on the day and in the month.
func (b *Balance) hold(amounts *Amounts) {
	for unit, n := range amounts {
		b.Held[2*unit] += n
		b.Held[2*unit+1] += n
	}
}

// add adds what was used and is held in a day (period 0) or a month (period 1); nil: nothing.
func (b *Balance) add(period int, in *tally) {
	if in == nil {
		return
	}
	for unit := range in.used {
		b.Used[2*unit+period] += in.used[unit]
		b.Held[2*unit+period] += in.held[unit]
	}
}
