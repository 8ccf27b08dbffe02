package cache

import (
	"context"
	"slices"
	"time"
)

// Filter selects tasks of a team; the zero value selects all.
type Filter struct {
	Task   string
	Model  string
	Status Status
	Open   bool      // only tasks that have not ended
	From   time.Time // created at or after; zero: no bound
	To     time.Time // created at or before; zero: no bound
	Page   int       // from 1; less counts as 1
	Size   int       // tasks on a page; see [PageSize]
}

const (
	defaultPage = 10
	largestPage = 100
)

// PageSize is the page size that the service uses for the one in a request: 10 by default, 100 at most.
func PageSize(given int) int {
	if given < 1 {
		return defaultPage
	}
	return min(given, largestPage)
}

// List returns one page of the tasks of teams, newest first, and how many there are on all pages.
func (c *Claims) List(_ context.Context, teams []string, f Filter) (page []Claim, total int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	var admitted []*Claim
	for _, team := range teams {
		for _, claim := range slices.Backward(c.byTeam[team]) {
			if f.admits(claim) {
				admitted = append(admitted, claim)
			}
		}
	}
	if len(teams) > 1 {
		slices.SortStableFunc(admitted, func(a, b *Claim) int { return b.Created.Compare(a.Created) })
	}
	size := PageSize(f.Size)
	from := min((max(f.Page, 1)-1)*size, len(admitted))
	for _, claim := range admitted[from:min(from+size, len(admitted))] {
		page = append(page, *claim)
	}
	return page, len(admitted), nil
}

func (f *Filter) admits(c *Claim) bool {
	switch {
	case f.Task != "" && f.Task != c.Task,
		f.Model != "" && f.Model != c.Model,
		f.Status != "" && f.Status != c.Answer.Status,
		f.Open && c.Final(),
		!f.From.IsZero() && c.Submitted().Before(f.From),
		!f.To.IsZero() && c.Submitted().After(f.To):
		return false
	}
	return true
}

// admitsAll reports whether the filter selects every task.
func (f *Filter) admitsAll() bool { return *f == Filter{Page: f.Page, Size: f.Size} }

// Submitted is when the task was made, by the service's clock if it said so.
func (c *Claim) Submitted() time.Time {
	if !c.Answer.Submitted.IsZero() {
		return c.Answer.Submitted
	}
	return c.Created
}

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
