package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/cache"
)

// cancel asks upstream to cancel an own task and passes its answer on, also where it is too late to. It is asked within the
// account's rate of cancels, which the service counts apart from queries. Where it worked the task's state is asked for at
// once, so that the next poll does not show the one before, and what was held is free.
func (g *Gateway) cancel(w *reply, r *http.Request, c *call) error {
	claim, err := g.own(r.Context(), c)
	if err != nil {
		return err
	}
	if allowed, err := g.Cancels.Allow(r.Context(), c.Team, !g.cancels.first(c.Team, g.Now())); err == nil && !allowed {
		return refuse(refuseAccount).say("The service's account, which all teams share, is at its rate of cancels; team %s has had its part.", c.Team).retry(time.Second)
	}
	answered, err := g.upstream.do(c, post, "tasks/"+c.task+"/cancel")
	if err != nil {
		return err
	}
	if answered.status == http.StatusOK && !claim.Final() {
		c.waited += g.look(context.WithoutCancel(r.Context()), c, claim)
	}
	return answered.write(w)
}

// cancels knows when teams cancelled. Unlike a poll, a cancel that finds no room is refused, so one a second of each team
// goes before what others send beyond that: they have what is left over.
type cancels struct {
	mu   sync.Mutex
	last map[string]time.Time // by team; grows with the teams file
}

// first reports whether a team asks for the first time in a second.
func (l *cancels) first(team string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, known := l.last[team]; known && now.Sub(last) < time.Second {
		return false
	}
	if l.last == nil {
		l.last = make(map[string]time.Time)
	}
	l.last[team] = now
	return true
}

// look asks for a task's state although the last known one is fresh, if nobody is asking or has just asked in vain, and
// tells how long upstream took.
func (g *Gateway) look(ctx context.Context, c *call, claim cache.Claim) time.Duration {
	if turn, err := g.Claims.Take(ctx, c.Team, c.task); err == nil && turn != cache.Mine {
		return 0
	}
	if allowed, err := g.Queries.Allow(ctx, c.Team, false); err == nil && !allowed {
		g.Claims.Release(ctx, c.Team, c.task, 0)
		return 0
	}
	t := g.query(ctx, told{claim: claim, source: sourceStale}, asker{span: c.Span})
	c.tellEnd(&t)
	return t.took
}
