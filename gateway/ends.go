package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
)

// mostEnds bounds how many ends wait for their charges here. One that finds no room is asked for again.
const mostEnds = 10_000

// ends keeps the ends of tasks that this process has heard and whose charges are not taken yet. The others must not hear of
// them before: a task that is known to have ended is asked for no more, and if this process died nobody would charge it
// until its lease ends, and then as held.
type ends struct {
	mu    sync.Mutex
	heard map[endOf]cache.Claim
}

type endOf struct{ team, task string }

// add keeps an end, and reports whether none of that task is kept.
func (e *ends) add(claim *cache.Claim) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := endOf{claim.Team, claim.Task}
	if _, waits := e.heard[name]; waits {
		return false
	}
	if e.heard == nil {
		e.heard = make(map[endOf]cache.Claim)
	}
	if len(e.heard) < mostEnds {
		e.heard[name] = *claim
	}
	return true
}

// of returns the end of a task whose charge is not taken yet.
func (e *ends) of(team, task string) (cache.Claim, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	claim, waits := e.heard[endOf{team, task}]
	return claim, waits
}

func (e *ends) remove(team, task string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.heard, endOf{team, task})
}

// hearEnd settles a task whose end was just heard, and tells all replicas of it once the charge is taken: at once as a rule.
// Until then the end is told by this process alone, and the task stays due, so that another one finds it if this one dies.
// asks is how often the finisher has asked, and by who hears of the end. It returns the task as it ended, and what is charged
// for it, or nil where that was charged before.
func (g *Gateway) hearEnd(ctx context.Context, claim cache.Claim, answer cache.Answer, body []byte, asks int, by string) (ended cache.Claim, end *taskEnd) {
	ended = claim
	ended.Answer, ended.Body, ended.Fetched, ended.Asks = answer, body, g.Now(), asks
	var taken atomic.Bool
	if g.ends.add(&ended) {
		end = g.settleTask(ctx, &claim, answer, body, by, func() {
			_, _ = g.Claims.Hear(context.WithoutCancel(ctx), &claim, answer, body, asks) // what cannot be told is kept, and told later
			g.ends.remove(claim.Team, claim.Task)
			taken.Store(true)
		}, func() { g.ends.remove(claim.Team, claim.Task) }) // it is due again, and whoever asks then charges it
	}
	if !taken.Load() {
		rests := g.PollInterval // where the end is not kept it is asked for again, as any state is
		if _, waits := g.ends.of(claim.Team, claim.Task); waits {
			rests = 0
		}
		g.Claims.Release(ctx, claim.Team, claim.Task, rests)
		_ = g.Claims.Schedule(ctx, &ended, g.soon()) // else it is due again in a while
	}
	return ended, end
}

// soon is when a task is due for which nothing could be done now.
func (g *Gateway) soon() time.Time { return g.Now().Add(max(g.PollInterval, time.Second)) }
