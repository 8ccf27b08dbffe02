package cache

import (
	"context"
	"sync"
	"time"
)

// Queries keeps the account's rate of task queries, shared fairly by the teams that have wishes: a team that wants little gets
// it, and the rest is left to those that want more. A token bucket would allow the queries of two windows within one, and knows
// no shares. It is safe for concurrent use. Create it with [NewQueries].
type Queries struct {
	rate int
	now  func() time.Time

	mu     sync.Mutex
	wishes []wish // of the last window, granted or not
}

// wish is a team's call of Allow.
type wish struct {
	at      time.Time
	team    string
	granted bool
}

// queryWindow is a second, and a margin: queries may move closer together on their way to the service.
const queryWindow = time.Second + 50*time.Millisecond

// NewQueries allows that many queries a second.
func NewQueries(perSecond int, now func() time.Time) *Queries {
	return &Queries{rate: perSecond, now: now}
}

// Allow reports whether a team may query now. With spare it may have only what clients are unlikely to want.
func (q *Queries) Allow(_ context.Context, team string, spare bool) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	kept := q.wishes[:0]
	for _, a := range q.wishes {
		if now.Sub(a.at) < queryWindow {
			kept = append(kept, a)
		}
	}
	q.wishes = kept
	granted := fair(q.rate, q.wishes, team, spare)
	if granted || !spare && !q.denied(team) { // one denied wish in a window is enough to show that the team waits
		q.wishes = append(q.wishes, wish{now, team, granted})
	}
	return granted, nil
}

func (q *Queries) denied(team string) bool {
	for _, a := range q.wishes {
		if a.team == team && !a.granted {
			return true
		}
	}
	return false
}

// fair decides over a window: a team may have its share, and whatever the others leave of theirs.
func fair(rate int, window []wish, team string, spare bool) bool {
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
