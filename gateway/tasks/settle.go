package tasks

import (
	"context"
	"sync/atomic"

	"sluice/cache"
)

// Put makes a task its team's. claim.Answer and claim.Body are the answer that names it; whole: the answer is not a frame of a
// stream. A task that has ended already is settled at once. One that ended in a stream is settled when the stream ends, which
// may count its images; until then it is kept as waiting, so that another process queries its end if this one dies.
//
// ok is false if the task is another team's. end is nil if the task is not settled here.
func (t *Tasks) Put(ctx context.Context, claim cache.Claim, whole bool) (end *End, ok bool) {
	answer := claim.Answer
	if answer.Status.Final() {
		claim.Answer.Status = cache.Pending
	}
	if !t.deps.Claims.Put(ctx, claim) {
		return nil, false
	}
	if !answer.Status.Final() || !whole {
		return nil, true
	}
	if _, end = t.settle(ctx, heardEnd{claim, answer, claim.Body, 0, ByStream}); end == nil {
		end = t.endOf(&claim, answer, claim.Body, ByStream)
	}
	return end, true
}

// heardEnd is the answer in which a task's end was just heard.
type heardEnd struct {
	claim   cache.Claim
	answer  cache.Answer
	body    []byte
	queries int    // for [cache.Claim]
	by      string // who heard of the end
}

// settle charges a task whose end was just heard, and tells the other replicas of the end once the charge is taken, which is
// at once as a rule. Until then only this process knows of the end, and the task stays due, so that another replica finds it if
// this one dies. The first replica to charge the end counts. settle returns the task as it ended, and what is charged for it;
// nil: it was charged before.
func (t *Tasks) settle(ctx context.Context, h heardEnd) (ended cache.Claim, end *End) {
	ended = h.claim
	ended.Answer, ended.Body, ended.Fetched, ended.Queries = h.answer, h.body, t.deps.Now(), h.queries
	var taken, before atomic.Bool
	if t.unsettled.add(&ended) {
		end = t.endOf(&h.claim, h.answer, h.body, h.by)
		t.charge(ctx, &h.claim, end, func(first bool) {
			_, _ = t.deps.Claims.Hear(context.WithoutCancel(ctx), &h.claim, h.answer, h.body, h.queries) // Claims repeats it if it fails
			t.unsettled.remove(ended.Team, ended.Task)
			before.Store(!first)
			taken.Store(true)
		}, func() { t.unsettled.remove(ended.Team, ended.Task) }) // the task is due again, and the next query charges it
	}
	if before.Load() {
		end = nil
	}
	if !taken.Load() {
		rests := t.config.Interval // an end that is not kept is queried again, like any state
		if _, waits := t.unsettled.of(ended.Team, ended.Task); waits {
			rests = 0
		}
		t.release(ctx, &ended, rests)
		_ = t.deps.Claims.Schedule(ctx, &ended, t.soon()) // if it fails, the task is due later
	}
	return ended, end
}
