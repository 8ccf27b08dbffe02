package cache

import (
	"context"
	"sync"
	"time"
)

// Queries keeps the account's rate of task queries: in no second more than so many, shared fairly by the teams that ask.
// A team that asks for little gets what it asks for; what others leave over goes to who wants more. It is safe for
// concurrent use.
type Queries struct {
	rate int
	now  func() time.Time

	mu    sync.Mutex
	asked []asked // of the last window, granted or not
}

// asked is one wish for a query.
type asked struct {
	at      time.Time
	team    string
	granted bool
}

// queryWindow is a second and what the way to upstream may compress of it.
const queryWindow = time.Second + 50*time.Millisecond

// NewQueries allows so many queries a second.
func NewQueries(perSecond int, now func() time.Time) *Queries {
	return &Queries{rate: perSecond, now: now}
}

// Allow reports whether a team may query now. With spare it may only have what nobody else is likely to want.
func (q *Queries) Allow(_ context.Context, team string, spare bool) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	kept := q.asked[:0]
	for _, a := range q.asked {
		if now.Sub(a.at) < queryWindow {
			kept = append(kept, a)
		}
	}
	q.asked = kept
	granted := fair(q.rate, q.asked, team, spare)
	if granted || !spare && !q.denied(team) { // one denied wish tells that a team's clients are there
		q.asked = append(q.asked, asked{now, team, granted})
	}
	return granted, nil
}

func (q *Queries) denied(team string) bool {
	for _, a := range q.asked {
		if a.team == team && !a.granted {
			return true
		}
	}
	return false
}

// fair decides over a window: a team may have its share, and beyond it what the shares of the others leave.
func fair(rate int, window []asked, team string, spare bool) bool {
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
	if spare { // a part is always left for clients, and one for each team that waits
		return free > waiting+rate/4
	}
	return used[team] < share || free > reserved
}
