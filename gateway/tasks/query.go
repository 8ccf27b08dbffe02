package tasks

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/cache"
	"sluice/telemetry"
)

const (
	// QueryTime bounds the service's answer to a task query.
	QueryTime = 10 * time.Second
	// pollPatience is how long a poll waits for a query before it gets the last known answer.
	pollPatience = 5 * time.Second
	// lastChance is how long before a task expires the finisher queries with the priority of a client.
	lastChance = 2 * time.Minute
	// otherQuery is how often to check whether a query that no poll here started has ended.
	otherQuery = 50 * time.Millisecond
)

// Current returns the claim with a fresh answer, or with the last known one if no fresh one can be had. Polls at the same time
// share one query, which goes on if a client leaves.
func (t *Tasks) Current(ctx context.Context, claim cache.Claim, poll telemetry.Span) PollAnswer {
	if t.fresh(&claim) {
		return PollAnswer{Claim: claim, Source: Hit}
	}
	return t.collapse(ctx, claim, Origin{Span: poll})
}

// collapse queries the service once for all polls at the same time. It is apart from Current because what it shares with the query
// escapes to the heap, and a poll that needs no query should not pay for that.
func (t *Tasks) collapse(ctx context.Context, claim cache.Claim, by Origin) PollAnswer {
	led := false
	flight := t.queries.DoChan(claim.Team+"/"+claim.Task, func() (any, error) {
		led = true
		return t.queryInTurn(&claim, by), nil
	})
	patience := time.NewTimer(pollPatience)
	defer patience.Stop()
	select {
	case landed := <-flight:
		answer := landed.Val.(PollAnswer)
		if !led {
			answer.End = nil // the poll that made the query reports it
			if answer.Source == Queried {
				answer.Source = Collapsed
			}
		}
		return answer
	case <-patience.C:
	case <-ctx.Done():
	}
	return PollAnswer{Claim: claim, Source: Stale}
}

// queryInTurn answers from what is known by now, or queries the service, once among all replicas and within the account's rate.
func (t *Tasks) queryInTurn(claim *cache.Claim, by Origin) PollAnswer {
	ctx, cancel := context.WithTimeout(context.Background(), QueryTime+pollPatience)
	defer cancel()
	last := PollAnswer{Claim: *claim, Source: Stale}
	if kept, ok, err := t.deps.Claims.Get(ctx, claim.Team, claim.Task); err == nil && ok {
		if t.fresh(&kept) {
			return PollAnswer{Claim: kept, Source: Hit}
		}
		last.Claim = kept
	}
	if ended, waits := t.unsettled.of(claim.Team, claim.Task); waits {
		return PollAnswer{Claim: ended, Source: Hit}
	}
	turn, noRate := t.turn(ctx, claim, by.Finisher && t.canWait(claim), !by.Finisher) // without Redis a replica queries for clients only
	switch turn {
	case cache.Busy:
		return t.awaitOther(ctx, last)
	case cache.Resting:
		last.NoRate = noRate
		return last
	}
	return t.query(ctx, last, by)
}

// canWait reports whether the finisher leaves room in the rate for clients when it queries a task.
func (t *Tasks) canWait(claim *cache.Claim) bool {
	return t.deps.Now().Sub(claim.Created) < t.config.TTL-lastChance
}

// awaitOther waits for the answer to a query that no poll here started: another replica's, this one's finisher's, or the one after
// a cancel. If that query fails, it returns the last known answer.
func (t *Tasks) awaitOther(ctx context.Context, last PollAnswer) PollAnswer {
	tick := time.NewTicker(otherQuery)
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
		return PollAnswer{Claim: kept, Source: Collapsed}
	}
	return last
}

// busy reports whether such a query still runs. It takes the task's turn to find out, and gives it back.
func (t *Tasks) busy(ctx context.Context, claim *cache.Claim) bool {
	turn, err := t.deps.Claims.Take(ctx, claim.Team, claim.Task)
	if err == nil && turn == cache.Mine {
		t.release(ctx, claim, 0)
	}
	return err == nil && turn == cache.Busy
}

// query queries the service and keeps the answer.
func (t *Tasks) query(ctx context.Context, last PollAnswer, by Origin) PollAnswer {
	claim := &last.Claim
	claim.Counts.Send()
	begun := t.deps.Now()
	reply, err := t.deps.Query(claim, by)
	last.Took, last.UpstreamStatus, last.UpstreamID = t.deps.Now().Sub(begun), reply.Status, reply.UpstreamID
	answer, queries, who := cache.ReadAnswer(reply.Body, t.config.Zone), 0, ByPoll
	if err != nil || reply.Status != http.StatusOK || !hasState(&answer, claim.Task) {
		t.release(ctx, claim, t.config.Interval)
		return last
	}
	if by.Finisher {
		queries, who = claim.Queries+1, ByFinisher
	}
	if answer.Status.Final() {
		last.Claim, last.End = t.settle(ctx, heardEnd{last.Claim, answer, reply.Body, queries, who})
		last.Source = Queried
		return last
	}
	heard, err := t.deps.Claims.Hear(ctx, claim, answer, reply.Body, queries)
	if err != nil { // the poll gets the answer all the same
		heard = last.Claim
		heard.Answer, heard.Body, heard.Fetched = answer, reply.Body, t.deps.Now()
	}
	if !heard.Final() { // another query may have heard the end
		_ = t.deps.Claims.Schedule(ctx, &heard, cache.NextQuery(t.deps.Now(), heard.Created, t.config.TTL, t.config.Interval, queries)) // if it fails, the task is due later
	}
	if last.Claim = heard; !t.fresh(&heard) && t.config.Interval > 0 { // another query heard a later state, some time ago
		t.release(ctx, &heard, t.config.Interval)
		return last
	}
	last.Source = Queried
	return last
}

// hasState reports whether an answer has a state of that task. "unknown" is not a state, because the service can lose a task for a moment.
func hasState(answer *cache.Answer, task string) bool {
	return answer.Task == task && answer.Status != cache.Unknown && answer.Status != ""
}

// turn takes the turn to query the service about a task, once among all replicas and within the account's rate. If it is Mine,
// the caller MUST make the query, and then hear an answer or release the task. spare: leave room in the rate for others. blind:
// the caller may query even if Redis is away. noRate: the task rests because the rate has no query left.
func (t *Tasks) turn(ctx context.Context, claim *cache.Claim, spare, blind bool) (turn cache.Turn, noRate bool) {
	turn, err := t.deps.Claims.Take(ctx, claim.Team, claim.Task)
	switch {
	case err != nil && !blind:
		return cache.Resting, false
	case err == nil && turn != cache.Mine:
		return turn, false
	}
	if allowed, err := t.deps.Queries.Allow(ctx, claim.Team, spare); err == nil && !allowed || err != nil && !blind {
		t.release(ctx, claim, 0)
		return cache.Resting, err == nil
	}
	return cache.Mine, false
}

// release lets others query a task after that time.
func (t *Tasks) release(ctx context.Context, claim *cache.Claim, after time.Duration) {
	t.deps.Claims.Release(ctx, claim.Team, claim.Task, after)
}

// longestWait is the longest wait that a poll may ask for.
const longestWait = 60 * time.Second

// PreferredWait reads how long a client wants to wait for a change, "Prefer: wait=10", 60 seconds at most. A malformed
// preference is ignored.
func PreferredWait(h http.Header) time.Duration {
	for _, line := range h["Prefer"] {
		for preference := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(preference, "=")
			value, _, _ = strings.Cut(value, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			if err != nil {
				return 0
			}
			return min(time.Duration(seconds)*time.Second, longestWait)
		}
	}
	return 0
}

// Await waits until the task's state changes, the span has passed, or the gateway drains. waited is the time that it waited,
// without the last query.
func (t *Tasks) Await(ctx context.Context, claim cache.Claim, poll telemetry.Span, span time.Duration, drains func() bool) (answer PollAnswer, waited time.Duration) {
	begun := claim.Answer.Status
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	for ; ; claim = answer.Claim {
		before := t.deps.Now()
		answer = t.Current(ctx, claim, poll)
		waited += t.deps.Now().Sub(before) - answer.Took
		if answer.Claim.Answer.Status != begun || answer.Claim.Final() || drains() || ctx.Err() != nil {
			return answer, waited
		}
		pause := time.NewTimer(t.pause(&answer.Claim))
		before = t.deps.Now()
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		waited += t.deps.Now().Sub(before)
	}
}

// pause is how long to wait before the next look: until the answer is no longer fresh, but not so long that it delays a
// drain.
func (t *Tasks) pause(claim *cache.Claim) time.Duration {
	least := max(10*time.Millisecond, min(t.config.Interval, time.Second)/2)
	return min(max(t.config.Interval-t.deps.Now().Sub(claim.Fetched), least), time.Second)
}
