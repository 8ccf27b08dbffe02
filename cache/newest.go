package cache

import (
	"context"
	"slices"
)

// What one page of ListNewest reads at most, so that it stays cheap however many tasks there are.
const (
	mostNamed    = 20_000 // tasks of all teams, but leastNamed of each
	leastNamed   = 20
	mostOfTeam   = 500
	mostFiltered = 2000 // tasks that a filter looks at
)

// namedOf is how many tasks of each team a page names, if there are so many teams.
func namedOf(teams int) int { return min(max(mostNamed/max(teams, 1), leastNamed), mostOfTeam) }

// ListNewest returns the newest tasks of teams that the filter admits, newest first, and where the page behind them begins; 0:
// there is none. before is what the page before returned; 0: the first page. A page has at most f.Size tasks and those made at the
// same moment as its last; it may be short or empty and still have one behind it. The filter's Page does not count.
func (c *Claims) ListNewest(_ context.Context, teams []string, f Filter, before int64) (page []Claim, next int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	known, more := c.newestOf(teams, before)
	last := int64(0)
	for i, claim := range known {
		created := claim.Created.UnixMicro()
		if created != last && (len(page) >= PageSize(f.Size) || i >= mostFiltered) {
			return page, last, nil
		}
		if last = created; f.admits(claim) {
			page = append(page, *claim)
		}
	}
	if !more {
		last = 0
	}
	return page, last, nil
}

// newestOf returns the newest claims of teams, newest first, up to a moment before which none is missing, and reports whether there
// may be older ones.
func (c *Claims) newestOf(teams []string, before int64) (known []*Claim, more bool) {
	each, complete := namedOf(len(teams)), int64(0)
	for _, team := range teams {
		of := c.byTeam[team]
		for len(of) > 0 && before > 0 && of[len(of)-1].Created.UnixMicro() >= before {
			of = of[:len(of)-1]
		}
		if len(of) > each {
			of = of[len(of)-each:]
			complete, more = max(complete, of[0].Created.UnixMicro()), true
		}
		known = append(known, of...)
	}
	slices.SortStableFunc(known, func(a, b *Claim) int { return b.Created.Compare(a.Created) })
	return slices.DeleteFunc(known, func(c *Claim) bool { return c.Created.UnixMicro() < complete }), more
}
