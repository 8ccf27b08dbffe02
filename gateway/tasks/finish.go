package tasks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/cache"
	"sluice/gateway/billing"
	"sluice/telemetry"
)

const (
	finishMost     = 200 // tasks in a round
	finishTogether = 8   // queries at a time
	// finishAgain is how long a task waits if the rate had no query left for it. A poll's interval would be too long: of many
	// tasks due together, only one second's queries would be made in it.
	finishAgain = time.Second
	// noAccountPause is how long a task waits if its account is unknown to this process.
	noAccountPause = time.Minute
)

// teamAtAccount has a share of an account's rate of queries.
type teamAtAccount struct{ team, account string }

// Finish queries tasks that no client has polled for a while. Each of them must be paid for, and holds its team's quota until its
// end is known. Finish uses what clients leave of the accounts' query rates.
func (t *Tasks) Finish(ctx context.Context) {
	due, err := t.deps.Claims.Due(ctx, finishMost, t.deps.Full())
	if err != nil || len(due) == 0 {
		return // Maintain reports what is away
	}
	var noRate sync.Map // teams for which the rate of an account has no query left in this round
	turns := make(chan cache.Claim)
	var querying sync.WaitGroup
	for range finishTogether {
		querying.Go(func() {
			for claim := range turns {
				telemetry.Fence(t.deps.Logger, "finisher", func() { t.finishOne(ctx, &claim, &noRate) }) // the task is handed out again
			}
		})
	}
	defer querying.Wait()
	defer close(turns)
	for i := range due {
		select {
		case turns <- due[i]:
		case <-ctx.Done():
			return
		}
	}
}

// finishOne queries one task, unless the rate has no query left for its team. A task that has expired and whose end was never seen is
// charged as held.
func (t *Tasks) finishOne(ctx context.Context, claim *cache.Claim, noRate *sync.Map) {
	if _, waits := t.unsettled.of(claim.Team, claim.Task); waits { // Charge tries again by itself
		_ = t.deps.Claims.Schedule(ctx, claim, t.soon())
		return
	}
	if t.deps.Now().Sub(claim.Created) >= t.config.TTL {
		t.chargeUnheard(ctx, claim)
		return
	}
	if !t.deps.Has(claim.Account) { // the accounts file may name it again
		_ = t.deps.Claims.Schedule(ctx, claim, t.deps.Now().Add(noAccountPause))
		return
	}
	again, at := t.deps.Now().Add(finishAgain), teamAtAccount{claim.Team, claim.Account}
	if _, none := noRate.Load(at); none && t.canWait(claim) {
		_ = t.deps.Claims.Schedule(ctx, claim, again)
		return
	}
	landed, _, _ := t.flights.Do("finisher/"+claim.Team+"/"+claim.Task,
		func() (any, error) { return t.queryFenced(claim, Origin{Finisher: true}), nil })
	switch answer := landed.(PollAnswer); {
	case answer.Claim.Final():
		if _, waits := t.unsettled.of(claim.Team, claim.Task); !waits { // the end may have been known before the task was handed out
			_ = t.deps.Claims.Forget(ctx, claim)
		}
	case answer.Source == Hit: // a client polls it
		_ = t.deps.Claims.Schedule(ctx, claim, cache.NextQuery(answer.Claim.Fetched, claim.Created, t.config.TTL, t.config.Interval, 0))
	case answer.NoRate:
		noRate.Store(at, true)
		_ = t.deps.Claims.Schedule(ctx, claim, again)
	case answer.Source == Stale: // the service did not answer
		_ = t.deps.Claims.Schedule(ctx, claim, t.soon())
	}
}

// chargeUnheard charges a task whose end no query showed. The task is forgotten only once the charge is taken, so that another replica
// finds it, and writes its event, if this process dies before.
func (t *Tasks) chargeUnheard(ctx context.Context, claim *cache.Claim) {
	if !t.unsettled.add(claim) {
		return
	}
	given := false
	defer t.unsettled.removeUnless(&given, claim)
	end, charged := t.unheard(claim), *claim // it outlives the caller's
	t.charge(ctx, &charged, end, func(first bool) {
		if first && end.By == ByLease {
			t.deps.Logger.Warn("the end of a task was never seen; charged as held",
				slog.String("team", charged.Team), slog.String("task", charged.Task), slog.Int64("images", charged.Hold.Images),
				slog.Int64("tokens", charged.Hold.Tokens))
		}
		t.unsettled.remove(charged.Team, charged.Task)
		_ = t.deps.Claims.Forget(context.WithoutCancel(ctx), &charged) // if it fails, the task is handed out again and found settled
	}, func() { t.unsettled.remove(charged.Team, charged.Task) }) // the task is handed out again
	given = true
}

// unheard is the end of a task that no query showed: that in the stream of its creation, or else it is charged as held.
func (t *Tasks) unheard(claim *cache.Claim) *End {
	if ended := claim.Answer; ended.Streamed != "" {
		ended.Status = cache.Succeeded
		return t.endOf(claim, ended, nil, ByStream)
	}
	end := &End{Outcome: "unheard", Answer: claim.Answer, Estimated: true, By: ByLease}
	end.Amounts, end.Bill = billing.HeldByTask(&claim.Hold)
	return end
}
