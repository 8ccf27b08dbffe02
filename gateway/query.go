package gateway

import (
	"context"
	"time"

	"sluice/cache"
	"sluice/telemetry"
)

const (
	// queryTime bounds upstream's answer to a task query.
	queryTime = 10 * time.Second
	// pollPatience is how long a poll waits for a query before it gets the last known answer.
	pollPatience = 5 * time.Second
	// lastChance is how long before the end of a task's life the finisher asks as a client would.
	lastChance = 2 * time.Minute
	// otherReplica is how often a query that another replica makes is looked for.
	otherReplica = 50 * time.Millisecond
)

// source is where a poll's answer came from.
type source string

const (
	sourceHit       source = "hit"       // it was known and fresh
	sourceStored    source = "miss"      // upstream was asked for this poll
	sourceCollapsed source = "collapsed" // upstream was asked for another poll
	sourceStale     source = "stale"     // upstream could not be asked, or did not answer
)

// asker is on whose behalf upstream is asked.
type asker struct {
	finisher bool
	span     telemetry.Span // of the poll that leads; the finisher has none
}

// told is what a query brought.
type told struct {
	claim      cache.Claim
	source     source // sourceHit: another replica had heard it
	upstreamID string
	status     int
	took       time.Duration
	end        *taskEnd // that the query heard of and settled; nil: none
}

// fresh reports whether an answer need not be asked for again. A final one never.
func (g *Gateway) fresh(claim *cache.Claim) bool {
	return claim.Final() || g.Now().Sub(claim.Fetched) < g.PollInterval
}

// current returns the claim with an answer that is fresh, or with the last known one where there is none to be had. However
// many polls want one at once, upstream is asked once; a client that leaves does not end that for the others.
func (g *Gateway) current(ctx context.Context, c *call, claim cache.Claim) told {
	if g.fresh(&claim) {
		return told{claim: claim, source: sourceHit}
	}
	return g.collapse(ctx, claim, asker{span: c.Span})
}

// collapse asks upstream once for all polls that want to know at the same time. It stands apart from current because what
// it shares with the query is on the heap, which a poll that needs none should not pay for.
func (g *Gateway) collapse(ctx context.Context, claim cache.Claim, by asker) told {
	led := false
	flight := g.queries.DoChan(claim.Team+"/"+claim.Task, func() (any, error) {
		led = true
		return g.ask(&claim, by), nil
	})
	patience := time.NewTimer(pollPatience)
	defer patience.Stop()
	select {
	case landed := <-flight:
		t := landed.Val.(told)
		if !led {
			t.end = nil // it is the other poll's
			if t.source == sourceStored {
				t.source = sourceCollapsed
			}
		}
		return t
	case <-patience.C:
	case <-ctx.Done():
	}
	return told{claim: claim, source: sourceStale}
}

// ask asks upstream about a task, once among all replicas and within the account's rate.
func (g *Gateway) ask(claim *cache.Claim, by asker) told {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime+pollPatience)
	defer cancel()
	last := told{claim: *claim, source: sourceStale}
	if kept, ok, err := g.Claims.Get(ctx, claim.Team, claim.Task); err == nil && ok {
		if g.fresh(&kept) {
			return told{claim: kept, source: sourceHit}
		}
		last.claim = kept
	}
	if ended, waits := g.ends.of(claim.Team, claim.Task); waits {
		return told{claim: ended, source: sourceHit}
	}
	switch turn, err := g.Claims.Take(ctx, claim.Team, claim.Task); {
	case err != nil && by.finisher: // without the shared state a replica asks for its clients alone
		return last
	case err == nil && turn == cache.Busy:
		return g.overhear(ctx, last)
	case err == nil && turn == cache.Resting:
		return last
	}
	spare := by.finisher && g.Now().Sub(claim.Created) < g.TaskTTL-lastChance
	if allowed, err := g.Queries.Allow(ctx, claim.Team, spare); err == nil && !allowed {
		g.Claims.Release(ctx, claim.Team, claim.Task, 0)
		return last
	}
	return g.query(ctx, last, by)
}

// overhear waits for what another replica is told. Where that asked in vain there is nothing to wait for.
func (g *Gateway) overhear(ctx context.Context, last told) told {
	tick := time.NewTicker(otherReplica)
	defer tick.Stop()
	end := time.NewTimer(pollPatience)
	defer end.Stop()
	for waiting := true; waiting; {
		select {
		case <-tick.C:
			waiting = g.busy(ctx, &last.claim)
		case <-end.C:
			waiting = false
		}
	}
	if kept, ok, err := g.Claims.Get(ctx, last.claim.Team, last.claim.Task); err == nil && ok && kept.HeardAfter(&last.claim) {
		return told{claim: kept, source: sourceCollapsed}
	}
	return last
}

// busy reports whether another replica asks about a task.
func (g *Gateway) busy(ctx context.Context, claim *cache.Claim) bool {
	turn, err := g.Claims.Take(ctx, claim.Team, claim.Task)
	if err == nil && turn == cache.Mine {
		g.Claims.Release(ctx, claim.Team, claim.Task, 0)
	}
	return err == nil && turn == cache.Busy
}

// query asks upstream and keeps what it says.
func (g *Gateway) query(ctx context.Context, last told, by asker) told {
	c := &call{gateway: g, match: match{route: g.poll}, client: context.Background(), method: get, alone: by.finisher, creation: last.claim.Trace}
	c.Team, c.Task, c.Model, c.Label, c.Span = last.claim.Team, last.claim.Task, last.claim.Model, g.teams.Load().Label(last.claim.Model), by.span
	last.claim.Tally.Send()
	begun := g.Now()
	fresh, err := g.upstream.do(c, get, "tasks/"+last.claim.Task)
	last.took, last.status, last.upstreamID = g.Now().Sub(begun), c.UpstreamStatus, c.UpstreamID
	if err != nil || !fresh.tells(last.claim.Task, g.TaskZone) {
		g.Claims.Release(ctx, last.claim.Team, last.claim.Task, g.PollInterval)
		return last
	}
	answer, asks, who := cache.ReadAnswer(fresh.body, g.TaskZone), 0, settledByPoll
	if by.finisher {
		asks, who = last.claim.Asks+1, settledByFinisher
	}
	if answer.Status.Final() {
		last.claim, last.end = g.hearEnd(ctx, last.claim, answer, fresh.body, asks, who)
		last.source = sourceStored
		return last
	}
	heard, err := g.Claims.Hear(ctx, &last.claim, answer, fresh.body, asks)
	if err != nil { // it is told all the same
		heard = last.claim
		heard.Answer, heard.Body, heard.Fetched = answer, fresh.body, g.Now()
	}
	if !heard.Final() { // it was not overtaken by its end
		_ = g.Claims.Schedule(ctx, &heard, cache.NextAsk(g.Now(), heard.Created, g.TaskTTL, g.PollInterval, asks)) // else it is due again in a while
	}
	if last.claim = heard; !g.fresh(&heard) && g.PollInterval > 0 { // it was overtaken by a later state, which is older by now
		g.Claims.Release(ctx, heard.Team, heard.Task, g.PollInterval)
		return last
	}
	last.source = sourceStored
	return last
}
