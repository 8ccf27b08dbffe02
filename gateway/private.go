package gateway

import (
	"context"
	"net/http"
	"time"

	"sluice/cache"
)

// privateQueries is how many queries in a row may be for private polls, whose answers nobody else can read.
const privateQueries = 4

// recallPrivately asks upstream for this client alone: it sent a key of its own by which the answer is encrypted, which
// therefore can neither be read nor kept. Such queries are the task's as all others are, one an interval, and every so often
// it is the gateway's turn to ask: else it would never hear of the end of a task that is polled in this way alone.
func (g *Gateway) recallPrivately(w *reply, c *call, claim cache.Claim) error {
	ctx := context.Background()
	last := told{claim: claim, source: sourceStale}
	if turn, err := g.Claims.Take(ctx, c.Team, c.task); err != nil || turn != cache.Mine {
		return g.tell(w, c, last)
	}
	if allowed, err := g.Queries.Allow(ctx, c.Team, false); err != nil || !allowed {
		g.Claims.Release(ctx, c.Team, c.task, 0)
		return g.tell(w, c, last)
	}
	if !claim.Final() && claim.Tally.Private() >= privateQueries {
		return g.tell(w, c, g.query(ctx, last, asker{span: c.Span}))
	}
	defer g.Claims.Release(ctx, c.Team, c.task, g.PollInterval)
	claim.Tally.SendPrivately()
	if fresh, err := g.upstream.do(c, get, "tasks/"+c.task); err == nil && fresh.status == http.StatusOK && !fresh.denies(c.task, g.TaskZone) {
		c.Cache = string(sourceStored)
		g.Metrics.Poll(c.Cache)
		w.Header()["Cache-Status"] = []string{"sluice;fwd=request"}
		return fresh.write(w)
	}
	return g.tell(w, c, last)
}

// denies reports whether an answer that can be read says that the service does not know the task, or is about another.
func (a answer) denies(task string, zone *time.Location) bool {
	read := cache.ReadAnswer(a.body, zone)
	return read.Status == cache.Unknown || read.Task != "" && read.Task != task
}
