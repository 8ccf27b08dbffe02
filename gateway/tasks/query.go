package tasks

import (
	"context"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/telemetry"
)

const (
	// QueryTime bounds upstream's answer to a task query.
	QueryTime = 10 * time.Second
	// pollPatience is how long a poll waits for a query before it gets the last known answer.
	pollPatience = 5 * time.Second
	// lastChance is how long before the end of a task's life the finisher asks as a client would.
	lastChance = 2 * time.Minute
	// otherReplica is how often a query that another replica makes is looked for.
	otherReplica = 50 * time.Millisecond
)

// asker is on whose behalf upstream is asked.
type asker struct {
	finisher bool
	span     telemetry.Span // of the poll that leads; the finisher has none
}

// Current returns the claim with an answer that is fresh, or with the last known one where there is none to be had. However
// many polls want one at once, upstream is asked once; a client that leaves does not end that for the others.
func (t *Tasks) Current(ctx context.Context, claim cache.Claim, poll telemetry.Span) Told {
	if t.fresh(&claim) {
		return Told{Claim: claim, Source: Hit}
	}
	return t.collapse(ctx, claim, asker{span: poll})
}

// collapse asks upstream once for all polls that want to know at the same time. It stands apart from Current because what
// it shares with the query is on the heap, which a poll that needs none should not pay for.
func (t *Tasks) collapse(ctx context.Context, claim cache.Claim, by asker) Told {
	led := false
	flight := t.queries.DoChan(claim.Team+"/"+claim.Task, func() (any, error) {
		led = true
		return t.ask(&claim, by), nil
	})
	patience := time.NewTimer(pollPatience)
	defer patience.Stop()
	select {
	case landed := <-flight:
		told := landed.Val.(Told)
		if !led {
			told.End = nil // it is the other poll's
			if told.Source == Stored {
				told.Source = Collapsed
			}
		}
		return told
	case <-patience.C:
	case <-ctx.Done():
	}
	return Told{Claim: claim, Source: Stale}
}

// ask asks upstream about a task, once among all replicas and within the account's rate.
func (t *Tasks) ask(claim *cache.Claim, by asker) Told {
	ctx, cancel := context.WithTimeout(context.Background(), QueryTime+pollPatience)
	defer cancel()
	last := Told{Claim: *claim, Source: Stale}
	if kept, ok, err := t.deps.Claims.Get(ctx, claim.Team, claim.Task); err == nil && ok {
		if t.fresh(&kept) {
			return Told{Claim: kept, Source: Hit}
		}
		last.Claim = kept
	}
	if ended, waits := t.unsettled.of(claim.Team, claim.Task); waits {
		return Told{Claim: ended, Source: Hit}
	}
	spare := by.finisher && t.deps.Now().Sub(claim.Created) < t.config.TTL-lastChance
	switch t.turn(ctx, claim, spare, !by.finisher) { // without the shared state a replica asks for its clients alone
	case cache.Busy:
		return t.overhear(ctx, last)
	case cache.Resting:
		return last
	}
	return t.query(ctx, last, by)
}

// overhear waits for what another replica is told. Where that asked in vain there is nothing to wait for.
func (t *Tasks) overhear(ctx context.Context, last Told) Told {
	tick := time.NewTicker(otherReplica)
	defer tick.Stop()
	end := time.NewTimer(pollPatience)
	defer end.Stop()
	for waiting := true; waiting; {
		select {
		case <-tick.C:
			waiting = t.busy(ctx, &last.Claim)
		case <-end.C:
			waiting = false
		}
	}
	if kept, ok, err := t.deps.Claims.Get(ctx, last.Claim.Team, last.Claim.Task); err == nil && ok && kept.HeardAfter(&last.Claim) {
		return Told{Claim: kept, Source: Collapsed}
	}
	return last
}

// busy reports whether another replica asks about a task.
func (t *Tasks) busy(ctx context.Context, claim *cache.Claim) bool {
	turn, err := t.deps.Claims.Take(ctx, claim.Team, claim.Task)
	if err == nil && turn == cache.Mine {
		t.release(ctx, claim, 0)
	}
	return err == nil && turn == cache.Busy
}

// query asks upstream and keeps what it says.
func (t *Tasks) query(ctx context.Context, last Told, by asker) Told {
	claim := &last.Claim
	claim.Tally.Send()
	begun := t.deps.Now()
	reply, err := t.deps.Ask(&Query{Team: claim.Team, Task: claim.Task, Model: claim.Model, Creation: claim.Trace, Parent: by.span, Finisher: by.finisher})
	last.Took, last.UpstreamStatus, last.UpstreamID = t.deps.Now().Sub(begun), reply.Status, reply.UpstreamID
	answer, asks, who := cache.ReadAnswer(reply.Body, t.config.Zone), 0, ByPoll
	if err != nil || reply.Status != http.StatusOK || !tells(&answer, claim.Task) {
		t.release(ctx, claim, t.config.Interval)
		return last
	}
	if by.finisher {
		asks, who = claim.Asks+1, ByFinisher
	}
	if answer.Status.Final() {
		last.Claim, last.End = t.hearEnd(ctx, last.Claim, answer, reply.Body, asks, who)
		last.Source = Stored
		return last
	}
	heard, err := t.deps.Claims.Hear(ctx, claim, answer, reply.Body, asks)
	if err != nil { // it is told all the same
		heard = last.Claim
		heard.Answer, heard.Body, heard.Fetched = answer, reply.Body, t.deps.Now()
	}
	if !heard.Final() { // it was not overtaken by its end
		_ = t.deps.Claims.Schedule(ctx, &heard, cache.NextAsk(t.deps.Now(), heard.Created, t.config.TTL, t.config.Interval, asks)) // else it is due again in a while
	}
	if last.Claim = heard; !t.fresh(&heard) && t.config.Interval > 0 { // it was overtaken by a later state, which is older by now
		t.release(ctx, &heard, t.config.Interval)
		return last
	}
	last.Source = Stored
	return last
}

// tells reports whether an answer says something of that task: upstream's "unknown" (it can lose a task for a moment) and an
// answer about another task do not.
func tells(answer *cache.Answer, task string) bool {
	return answer.Task == task && answer.Status != cache.Unknown && answer.Status != ""
}
