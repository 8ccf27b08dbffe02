package tasks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/teams"
	"sluice/telemetry"
)

const (
	// QueryTime bounds a task query, connecting included. It is shorter than a turn, so that one task never has two queries at once.
	QueryTime = 10 * time.Second
	// lastChance is how long before a task expires the finisher queries with the priority of a client.
	lastChance = 2 * time.Minute
	// otherQuery is how often to check whether a query that no poll here started has ended.
	otherQuery = 50 * time.Millisecond
)

// queries queries the service about tasks: one replica at a time, and within its account's rate.
type queries struct {
	*settler
	flights singleflight.Group // running task queries
}

// fresh reports whether the last answer still serves. A final one always does.
func (q *queries) fresh(claim *cache.Claim) bool {
	return claim.Final() || q.deps.Now().Sub(claim.Fetched) < q.config.Interval
}

// queryFenced is queryInTurn, which answers from what is known if it panics: a flight has a goroutine of its own.
func (q *queries) queryFenced(claim *cache.Claim, by Origin) PollAnswer {
	answer := PollAnswer{Claim: *claim, Source: Stale}
	telemetry.Fence(q.deps.Logger, "task query", func() { answer = q.queryInTurn(claim, by) })
	return answer
}

// queryInTurn answers from what is known, or queries the service, once among all replicas and within its account's rate.
func (q *queries) queryInTurn(claim *cache.Claim, by Origin) PollAnswer {
	ctx, cancel := context.WithTimeout(context.Background(), QueryTime+pollPatience)
	defer cancel()
	last := PollAnswer{Claim: *claim, Source: Stale}
	if kept, ok, err := q.deps.Claims.Get(ctx, claim.Team, claim.Task); err == nil && ok {
		if q.fresh(&kept) {
			return PollAnswer{Claim: kept, Source: Hit}
		}
		last.Claim = kept
	}
	if ended, waits := q.unsettled.of(claim.Team, claim.Task); waits {
		return PollAnswer{Claim: ended, Source: Hit}
	}
	if !q.deps.Has(claim.Account) {
		return last
	}
	turn, noRate := q.turn(ctx, claim, by.Finisher && q.canWait(claim), !by.Finisher) // without Redis a replica queries for clients only
	switch turn {
	case cache.Busy:
		return q.awaitOther(ctx, last)
	case cache.Resting:
		last.NoRate = noRate
		return last
	}
	return q.query(ctx, last, by)
}

// canWait reports whether the finisher leaves room in the rate for clients when it queries a task.
func (q *queries) canWait(claim *cache.Claim) bool {
	return q.deps.Now().Sub(claim.Created) < q.config.TTL-lastChance
}

// awaitOther waits for the answer to a query that no poll here started: another replica's, this one's finisher's, or the one after
// a cancel. If that query fails, it returns the last known answer.
func (q *queries) awaitOther(ctx context.Context, last PollAnswer) PollAnswer {
	tick := time.NewTicker(otherQuery)
	defer tick.Stop()
	end := time.NewTimer(pollPatience)
	defer end.Stop()
	for waiting := true; waiting; {
		select {
		case <-tick.C:
			turn, err := q.deps.Claims.Take(ctx, last.Claim.Team, last.Claim.Task) // only to find out: the turn is given back
			if waiting = err == nil && turn == cache.Busy; err == nil && turn == cache.Mine {
				q.release(ctx, &last.Claim, 0)
			}
		case <-end.C:
			waiting = false
		}
	}
	if kept, ok, err := q.deps.Claims.Get(ctx, last.Claim.Team, last.Claim.Task); err == nil && ok && kept.HeardAfter(&last.Claim) {
		return PollAnswer{Claim: kept, Source: Collapsed}
	}
	return last
}

// query queries the service and keeps the answer. If that panics, the task is released.
func (q *queries) query(ctx context.Context, last PollAnswer, by Origin) (answer PollAnswer) {
	ended, claim := false, last.Claim
	defer func() {
		if !ended {
			q.release(ctx, &claim, q.config.Interval)
		}
	}()
	answer = q.ask(ctx, last, by)
	ended = true
	return answer
}

// ask is query without its fence.
func (q *queries) ask(ctx context.Context, last PollAnswer, by Origin) PollAnswer {
	claim := &last.Claim
	claim.CountQuery()
	begun := q.deps.Now()
	reply, err := q.deps.Query(claim, by)
	last.Took, last.UpstreamStatus, last.UpstreamID = q.deps.Now().Sub(begun), reply.Status, reply.UpstreamID
	answer, queries, who := cache.ReadAnswer(reply.Body, q.config.Zone), 0, ByPoll
	q.alarm(claim, &reply, &answer)
	if err != nil || reply.Status != http.StatusOK || !hasState(&answer, claim.Task) {
		q.release(ctx, claim, q.config.Interval)
		return last
	}
	if by.Finisher {
		queries, who = claim.Queries+1, ByFinisher
	}
	if answer.Status.Final() {
		q.addStreamed(ctx, claim, &answer, reply.Body)
		last.Claim, last.End = q.settle(ctx, heardEnd{last.Claim, answer, reply.Body, queries, who})
		last.Source = Queried
		return last
	}
	heard, err := q.deps.Claims.Hear(ctx, claim, answer, reply.Body, queries)
	if err != nil { // the poll gets the answer all the same
		heard = last.Claim
		heard.Answer, heard.Body, heard.Fetched = answer, reply.Body, q.deps.Now()
	}
	if !heard.Final() { // another query may have learned the end
		// if it fails, the task is due later
		_ = q.deps.Claims.Schedule(ctx, &heard, cache.NextQuery(q.deps.Now(), heard.Created, q.config.TTL, q.config.Interval, queries))
	}
	if last.Claim = heard; !q.fresh(&heard) && q.config.Interval > 0 { // another query learned a later state, some time ago
		q.release(ctx, &heard, q.config.Interval)
		return last
	}
	last.Source = Queried
	return last
}

// wish is a query or a cancel that counts in the rate of the task's account.
func (q *queries) wish(claim *cache.Claim, spare bool) cache.Wish {
	return cache.Wish{Account: claim.Account, Rate: q.deps.QueryRate(claim.Account), Team: claim.Team, Spare: spare}
}

// hasState reports whether an answer has a state of that task. "unknown" is not a state, because the service can lose a task for a moment.
func hasState(answer *cache.Answer, task string) bool {
	return answer.Task == task && answer.Status != cache.Unknown && answer.Status != ""
}

// turn takes the turn to query the service about a task, once among all replicas and within its account's rate. If it is Mine,
// the caller MUST make the query, and then pass the answer to Hear, or release the task. spare: leave room in the rate for
// others. blind: the caller may query even if Redis is away. noRate: the task rests because the rate has no query left.
func (q *queries) turn(ctx context.Context, claim *cache.Claim, spare, blind bool) (turn cache.Turn, noRate bool) {
	turn, err := q.deps.Claims.Take(ctx, claim.Team, claim.Task)
	switch {
	case err != nil && !blind:
		return cache.Resting, false
	case err == nil && turn != cache.Mine:
		return turn, false
	}
	if allowed, err := q.deps.Queries.Allow(ctx, q.wish(claim, spare)); err == nil && !allowed || err != nil && !blind {
		q.release(ctx, claim, 0)
		return cache.Resting, err == nil
	}
	return cache.Mine, false
}

// known has the states that package cache has a word for.
var known = map[cache.Status]bool{
	cache.Pending: true, cache.Suspended: true, cache.Running: true, cache.Succeeded: true, cache.Failed: true, cache.Canceled: true,
	cache.Cancelled: true,
}

// alarm tells the operator if the service does not know a task that it should know, or has a word for its state that Sluice does not
// know. Neither changes the task: the query counts as failed, and the state as running.
func (q *queries) alarm(claim *cache.Claim, reply *Reply, answer *cache.Answer) {
	raise := func(code, format string, args ...any) {
		q.deps.Alarm(code, cmp.Or(claim.Account, teams.MainAccount), fmt.Sprintf(format, args...))
	}
	named := answer.Task == claim.Task
	switch {
	case !q.canWait(claim): // the service is about to forget it, or has done so
	case reply.Status == http.StatusNotFound, reply.Status == http.StatusOK && answer.Status == cache.Unknown && (named || answer.Task == ""):
		age := q.deps.Now().Sub(claim.Created).Round(time.Second)
		raise(telemetry.AlarmTaskUnknown, "the service does not know the task %s of team %s, which is %s old", claim.Task, claim.Team, age)
	case reply.Status == http.StatusOK && named && answer.Status != "" && !known[answer.Status]:
		status := policy.Brief(q.deps.Cover(string(answer.Status)))
		raise(telemetry.AlarmTaskStatus, "the service says of the task %s of team %s: %s, which counts as running", claim.Task, claim.Team,
			status)
	}
}
