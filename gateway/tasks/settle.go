package tasks

import (
	"context"
	"sync/atomic"

	"sluice/cache"
)

// hearEnd settles a task whose end was just heard, and tells all replicas of it once the charge is taken: at once as a rule.
// Until then the end is told by this process alone, and the task stays due, so that another one finds it if this one dies.
// asks is how often the finisher has asked, and by who hears of the end. It returns the task as it ended, and what is charged
// for it, or nil where that was charged before.
func (t *Tasks) hearEnd(ctx context.Context, claim cache.Claim, answer cache.Answer, body []byte, asks int, by string) (ended cache.Claim, end *End) {
	ended = claim
	ended.Answer, ended.Body, ended.Fetched, ended.Asks = answer, body, t.deps.Now(), asks
	var taken atomic.Bool
	if t.unsettled.add(&ended) {
		end = t.settle(ctx, &claim, answer, body, by, func() {
			_, _ = t.deps.Claims.Hear(context.WithoutCancel(ctx), &claim, answer, body, asks) // what cannot be told is kept, and told later
			t.unsettled.remove(claim.Team, claim.Task)
			taken.Store(true)
		}, func() { t.unsettled.remove(claim.Team, claim.Task) }) // it is due again, and whoever asks then charges it
	}
	if !taken.Load() {
		rests := t.config.Interval // where the end is not kept it is asked for again, as any state is
		if _, waits := t.unsettled.of(claim.Team, claim.Task); waits {
			rests = 0
		}
		t.release(ctx, &claim, rests)
		_ = t.deps.Claims.Schedule(ctx, &ended, t.soon()) // else it is due again in a while
	}
	return ended, end
}

// settle settles a task that has ended, by the images it made. Whoever hears of the end does so; the first counts. It
// calls taken once the charge is taken, or left where it never will be: that may be later, when this has returned. It
// returns what it charges, or nil where another did before.
func (t *Tasks) settle(ctx context.Context, claim *cache.Claim, ended cache.Answer, body []byte, by string, taken, left func()) *End {
	end := t.endOf(claim, ended, body, by)
	var settledBefore atomic.Bool
	t.charge(ctx, claim, end.Images, end.Doubt, func(first bool) {
		if first {
			t.tellOfTask(claim, end)
		}
		settledBefore.Store(!first)
		taken()
	}, left)
	if settledBefore.Load() {
		return nil
	}
	return end
}
