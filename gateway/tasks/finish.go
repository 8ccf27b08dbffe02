package tasks

import (
	"context"
	"log/slog"
	"sync"

	"sluice/cache"
)

const (
	finishMost     = 200 // tasks that the finisher takes at a time
	finishTogether = 8   // that it asks for at once
)

// Finish asks about the tasks that are due, because nobody polled them lately: each is paid for whether or not anybody
// fetches it, and holds its team's quota until its end is heard. What is left of the account's query rate is its share.
func (t *Tasks) Finish(ctx context.Context) {
	due, err := t.deps.Claims.Due(ctx, finishMost, t.deps.Full())
	if err != nil || len(due) == 0 {
		return // what is away is told of elsewhere
	}
	turns := make(chan cache.Claim)
	var asking sync.WaitGroup
	for range finishTogether {
		asking.Go(func() {
			for claim := range turns {
				t.finishOne(ctx, &claim)
			}
		})
	}
	defer asking.Wait()
	defer close(turns)
	for i := range due {
		select {
		case turns <- due[i]:
		case <-ctx.Done():
			return
		}
	}
}

// finishOne asks about a task, or charges one whose life is over without anybody having heard of its end.
func (t *Tasks) finishOne(ctx context.Context, claim *cache.Claim) {
	if _, waits := t.unsettled.of(claim.Team, claim.Task); waits { // its charge is tried again
		_ = t.deps.Claims.Schedule(ctx, claim, t.soon())
		return
	}
	if t.deps.Now().Sub(claim.Created) >= t.config.TTL {
		t.charge(ctx, claim, claim.Hold.Images, true, func(first bool) {
			if first {
				t.tellOfTask(claim, &End{Outcome: "unheard", Answer: claim.Answer, Images: claim.Hold.Images, Doubt: true, By: ByLease})
				t.deps.Logger.Warn("a task ended unheard of and is charged as held",
					slog.String("team", claim.Team), slog.String("task", claim.Task), slog.Int64("images", claim.Hold.Images))
			}
		}, nil) // its lease charges the same
		_ = t.deps.Claims.Forget(ctx, claim) // else it is handed out again, and settled already
		return
	}
	landed, _, _ := t.queries.Do("finisher/"+claim.Team+"/"+claim.Task, func() (any, error) { return t.ask(claim, asker{finisher: true}), nil })
	switch told := landed.(Told); {
	case told.Claim.Final():
		if _, waits := t.unsettled.of(claim.Team, claim.Task); !waits { // known here, and maybe not yet where it was handed out
			_ = t.deps.Claims.Forget(ctx, claim)
		}
	case told.Source == Hit: // somebody polls it
		_ = t.deps.Claims.Schedule(ctx, claim, cache.NextAsk(told.Claim.Fetched, claim.Created, t.config.TTL, t.config.Interval, 0))
	case told.Source == Stale: // no query was left for it, or upstream did not answer
		_ = t.deps.Claims.Schedule(ctx, claim, t.soon())
	}
}
