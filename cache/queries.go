package cache

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Queries keeps the rates of task queries of the accounts at the service. The teams that want to query share each rate
// fairly: a team that wants little gets it, and the rest is left to those that want more. A token bucket would allow
// the queries of two windows within one, and knows no shares. It is safe for concurrent use. Create it with
// [NewQueries].
type Queries struct {
	rate int
	now  func() time.Time

	mu   sync.Mutex
	last map[string][]past // wishes of the last window by account, granted or not
}

// Wish is a query that a team wants to make now.
type Wish struct {
	Account string // at the service; empty: main
	Rate    int    // the account's queries a second; 0: the default rate
	Team    string
	Spare   bool // it is granted only queries that clients are unlikely to want
}

// past is a wish of the last window.
type past struct {
	at      time.Time
	team    string
	granted bool
}

// queryWindow is a second and a margin: queries may move closer together on their way to the service.
const queryWindow = time.Second + 50*time.Millisecond

// NewQueries allows that many queries a second of each account that has no rate of its own.
func NewQueries(perSecond int, now func() time.Time) *Queries {
	return &Queries{rate: perSecond, now: now, last: map[string][]past{}}
}

// Allow reports whether a team may query now.
func (q *Queries) Allow(_ context.Context, w Wish) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, list := q.now(), q.last[w.Account]
	kept := list[:0]
	for _, a := range list {
		if now.Sub(a.at) < queryWindow {
			kept = append(kept, a)
		}
	}
	granted := fair(cmp.Or(w.Rate, q.rate), kept, w.Team, w.Spare)
	if granted || !w.Spare && !denied(kept, w.Team) { // one denied wish in a window is enough to show that the team waits
		kept = append(kept, past{now, w.Team, granted})
	}
	q.last[w.Account] = kept
	return granted, nil
}

func denied(window []past, team string) bool {
	return slices.ContainsFunc(window, func(a past) bool { return a.team == team && !a.granted })
}

// fair decides by the wishes of a window: a team may have its share, and whatever the others leave of theirs.
func fair(rate int, window []past, team string, spare bool) bool {
	used, granted, waiting := map[string]int{team: 0}, 0, 0
	for _, a := range window {
		n := used[a.team]
		switch {
		case a.granted:
			n++
			granted++
		case a.team != team:
			waiting++
		}
		used[a.team] = n
	}
	free, share := rate-granted, max(rate/len(used), 1)
	if free <= 0 {
		return false
	}
	reserved := 0
	for other, n := range used {
		if other != team {
			reserved += max(share-n, 0)
		}
	}
	if spare { // a quarter is left for clients, and one query for each team that waits
		return free > waiting+rate/4
	}
	return used[team] < share || free > reserved
}
