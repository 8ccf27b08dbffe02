package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
)

// redisOutcomes remembers the outcomes of requests that run once.
type redisOutcomes struct {
	*store
	pending *pendingWrites
}

// Begin lets the first request with a name run, and gives it the token that it ends by; to all others it returns what is
// remembered of the first.
func (o *redisOutcomes) Begin(ctx context.Context, name IdempotencyName, body [sha256.Size]byte) (was Outcome, first bool, err error) {
	running, text, err := o.running(body)
	if err != nil {
		return was, false, err
	}
	first, err = o.setFirst(ctx, outcomeKey(name), text, o.TTL)
	switch {
	case err != nil: // the name may be taken by now, although the request does not run
		o.forgetLater(name, running.Token)
		return was, false, err
	case first:
		return running, true, nil
	}
	known, found, err := o.get(ctx, outcomeKey(name))
	switch {
	case err != nil:
		return was, false, err
	case !found: // it ended in between
		return o.Begin(ctx, name, body)
	}
	return was, false, json.Unmarshal([]byte(known), &was)
}

// running is a request that begins, and its text.
func (o *redisOutcomes) running(body [sha256.Size]byte) (Outcome, []byte, error) {
	running := Outcome{Body: body, Started: o.Now(), Token: rand.Text()}
	text, err := json.Marshal(running)
	return running, text, err
}

// BeginNew lets a request run under a new name, which is from now on the newest of those that are equal. Both are one
// transaction, so that a request that is repeated cannot come between.
func (o *redisOutcomes) BeginNew(ctx context.Context, all IdempotencyName, body [sha256.Size]byte) (name IdempotencyName, was Outcome, err error) {
	name = all.fresh()
	running, text, err := o.running(body)
	if err != nil {
		return name, was, err
	}
	if err := o.setListed(ctx, outcomeKey(name), text, equalKey(all), name.Digest, o.TTL); err != nil {
		o.forgetLater(name, running.Token) // it may be written all the same
		return name, was, err
	}
	return name, running, nil
}

// Newest returns the name of the newest of the requests that are equal.
func (o *redisOutcomes) Newest(ctx context.Context, all IdempotencyName) (name IdempotencyName, found bool, err error) {
	digests, err := o.list(ctx, equalKey(all))
	if err != nil {
		return name, false, err
	}
	for _, digest := range digests {
		name = IdempotencyName{all.Team, digest}
		if _, found, err = o.get(ctx, outcomeKey(name)); found || err != nil {
			return name, found, err
		}
	}
	return name, false, nil
}

func (o *redisOutcomes) forgetLater(name IdempotencyName, token string) {
	o.pending.add(name.Team, func(ctx context.Context) error { return o.forget(ctx, name, token) })
}

// forget frees a name if it still stands for that request: a late or repeated write must not free another request's.
func (o *redisOutcomes) forget(ctx context.Context, name IdempotencyName, token string) error {
	all, _ := name.equals()
	return o.run(ctx, forgetScript, []string{outcomeKey(name), equalKey(all)}, token, name.Digest).Err()
}

// End remembers the outcome, now or later, or forgets the name if it has no status.
func (o *redisOutcomes) End(ctx context.Context, name IdempotencyName, _ [sha256.Size]byte, outcome Outcome) {
	text, err := json.Marshal(outcome)
	if err != nil {
		return
	}
	end := func(ctx context.Context) error {
		if outcome.Status == 0 {
			return o.forget(ctx, name, outcome.Token)
		}
		return o.set(ctx, outcomeKey(name), text, o.TTL)
	}
	if end(ctx) != nil {
		o.pending.add(name.Team, end)
	}
}
