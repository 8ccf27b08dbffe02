package tasks

import (
	"sync"

	"sluice/cache"
)

// mostUnsettled bounds how many ends wait for their charges. An end without room is queried again.
const mostUnsettled = 10_000

// unsettled keeps the ends that this process has heard and whose charges are not taken yet. Other replicas must not hear of
// them before: a task that is known to have ended is queried no more, and if this process died, it would be
// charged only when its lease ends, and as held.
type unsettled struct {
	most  int
	mu    sync.Mutex
	heard map[taskName]cache.Claim
}

type taskName struct{ team, task string }

// add keeps an end if there is room, and reports whether the task had none.
func (u *unsettled) add(claim *cache.Claim) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := taskName{claim.Team, claim.Task}
	if _, waits := u.heard[name]; waits {
		return false
	}
	if u.heard == nil {
		u.heard = make(map[taskName]cache.Claim)
	}
	if len(u.heard) < u.most {
		u.heard[name] = *claim
	}
	return true
}

// of returns the end of a task, if its charge is not taken yet.
func (u *unsettled) of(team, task string) (cache.Claim, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	claim, waits := u.heard[taskName{team, task}]
	return claim, waits
}

func (u *unsettled) remove(team, task string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.heard, taskName{team, task})
}
