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

// List returns one page of a team's tasks, newest first, and how many there are on all pages.
func (c *Claims) List(_ context.Context, team string, f Filter) (page []Claim, total int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	size := PageSize(f.Size)
	skip := (max(f.Page, 1) - 1) * size
	all := c.byTeam[team]
	for i := len(all) - 1; i >= 0; i-- {
		if !f.admits(all[i]) {
			continue
		}
		if total >= skip && len(page) < size {
			page = append(page, *all[i])
		}
		total++
	}
	return page, total, nil
}

// ListOpen returns one page of the tasks of teams that have not ended, newest first, and how many there are on all pages.
func (c *Claims) ListOpen(_ context.Context, teams []string, f Filter) (page []Claim, total int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	f.Open = true
	var open []*Claim
	for _, team := range teams {
		for _, claim := range c.byTeam[team] {
			if f.admits(claim) {
				open = append(open, claim)
			}
		}
	}
	slices.SortStableFunc(open, func(a, b *Claim) int { return b.Created.Compare(a.Created) })
	size := PageSize(f.Size)
	from := min((max(f.Page, 1)-1)*size, len(open))
	for _, claim := range open[from:min(from+size, len(open))] {
		page = append(page, *claim)
	}
	return page, len(open), nil
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
