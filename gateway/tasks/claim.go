package tasks

import (
	"context"

	"sluice/cache"
)

// Put makes a task its team's. claim.Answer and claim.Body are the answer that names it. A task that has ended already is
// settled now, but a stream's when the stream ends, which may tell of images; until that is done it counts as waiting, so that
// whoever finds it, if this process dies, asks for its end. whole: nothing follows in a stream. ok is false where the task is
// another team's; end is nil where it is not settled here.
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
	if _, end = t.hearEnd(ctx, claim, answer, claim.Body, 0, ByStream); end == nil {
		end = t.endOf(&claim, answer, claim.Body, ByStream)
	}
	return end, true
}
