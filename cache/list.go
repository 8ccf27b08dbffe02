package cache

import (
	"slices"
	"time"
)

// Filter selects tasks of teams, and a page of them; the zero value selects all.
type Filter struct {
	Task   string
	Model  string
	Status Status
	Open   bool      // only tasks that have not ended
	From   time.Time // created at or after; zero: no bound
	To     time.Time // created at or before; zero: no bound
	Size   int       // tasks on a page; see [PageSize]
	Page   int       // from 1; less counts as 1
	// Newest pages by moments instead of numbers, and bounds what a page reads, so that it stays cheap however many tasks there
	// are. A page has at most Size tasks and those made at the same moment as its last; it may be short or empty without being
	// the last.
	Newest bool
	Before int64 // the Next of the page before, with Newest; 0: the first page
}

// Page is one page of a list of tasks, newest first.
type Page struct {
	Tasks []Claim
	Total int   // tasks on all pages; meaningless with Newest
	Next  int64 // where the next page begins, with Newest; 0: this is the last
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

func (f *Filter) admits(c *Claim) bool {
	switch {
	case f.Task != "" && f.Task != c.Task,
		f.Model != "" && f.Model != c.Model,
		f.Status != "" && f.Status.spelled() != c.Answer.Status.spelled(),
		f.Open && c.Final(),
		!f.From.IsZero() && c.Submitted().Before(f.From),
		!f.To.IsZero() && c.Submitted().After(f.To):
		return false
	}
	return true
}

// admitsAll reports whether the filter selects every task.
func (f *Filter) admitsAll() bool {
	return *f == Filter{Size: f.Size, Page: f.Page, Newest: f.Newest, Before: f.Before}
}

// The bounds of what a page with Newest reads.
const (
	mostNamed    = 20_000 // tasks of all teams, but leastNamed of each
	leastNamed   = 20
	mostOfTeam   = 500
	mostFiltered = 2000 // tasks that a filter examines
)

// named is a task's name, and when it was made, in microseconds.
type named struct {
	team, id string
	created  int64
}

// lister is one form of the store, for one list.
type lister interface {
	// names MUST name the tasks of teams, newest first: with open, all that have not ended; otherwise those made before a
	// moment (0: any), and at most each of every team (-1: all).
	names(teams []string, open bool, before int64, each int) ([]named, error)
	// claims MUST read tasks; nil: it has expired since. Unless whole is set, the body and the counts may be missing.
	claims(names []named, whole bool) ([]*Claim, error)
}

// list returns a page: it names the tasks, reads what the filter needs of them, and then the page's tasks in full.
func list(l lister, teams []string, f Filter) (page Page, err error) {
	each := -1
	if f.Newest {
		each = min(max(mostNamed/max(len(teams), 1), leastNamed), mostOfTeam)
	}
	names, err := l.names(teams, f.Open, f.Before, each)
	if err != nil {
		return page, err
	}
	f.Open = false
	more, filters := false, !f.admitsAll()
	if f.Newest {
		names, more = complete(names, each)
		if filters && len(names) > mostFiltered {
			names, more = untilEqual(names, mostFiltered), true
		}
	}
	if more {
		page.Next = names[len(names)-1].created
	}
	if filters {
		if names, err = choose(l, names, &f); err != nil {
			return page, err
		}
	}
	size := PageSize(f.Size)
	if page.Total = len(names); !f.Newest {
		from := min((max(f.Page, 1)-1)*size, len(names))
		names = names[from:min(from+size, len(names))]
	} else if len(names) > size {
		if names = untilEqual(names, size); more || len(names) < page.Total {
			page.Next = names[len(names)-1].created
		}
	}
	claims, err := l.claims(names, true)
	for _, claim := range claims {
		if claim != nil {
			page.Tasks = append(page.Tasks, *claim)
		}
	}
	return page, err
}

// complete returns the names back to the moment before which some may be missing, and reports whether there may be
// older ones.
func complete(names []named, each int) (known []named, more bool) {
	of, since := map[string]int{}, int64(0)
	for _, t := range names {
		if of[t.team]++; of[t.team] == each {
			since, more = max(since, t.created), true
		}
	}
	return slices.DeleteFunc(names, func(t named) bool { return t.created < since }), more
}

// untilEqual returns the first n tasks, and those made at the same moment as the last of them.
func untilEqual(names []named, n int) []named {
	for n < len(names) && names[n].created == names[n-1].created {
		n++
	}
	return names[:n]
}

// choose returns the tasks that the filter admits.
func choose(l lister, names []named, f *Filter) (chosen []named, err error) {
	claims, err := l.claims(names, false)
	for i, claim := range claims {
		if claim != nil && f.admits(claim) {
			chosen = append(chosen, names[i])
		}
	}
	return chosen, err
}
