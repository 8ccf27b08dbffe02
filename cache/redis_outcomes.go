package cache

import (
	"cmp"
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

// Begin is [Outcomes.Begin]. If it fails, the name may still be taken, now or later, although the request does not run: it is
// ended immediately.
func (o *redisOutcomes) Begin(ctx context.Context, name IdempotencyName, body [sha256.Size]byte, token string) (was Outcome, first bool,
	err error,
) {
	running, text := o.running(body, token)
	all, _ := name.equals()
	known, err := o.run(ctx, beginScript, []string{outcomeKey(name), equalKey(all), endedKey(name.Team, token)}, "value", text, "life",
		o.TTL.Milliseconds(), "name", name.Digest).Text()
	switch {
	case err != nil:
		o.forgetLater(name, token)
		return was, false, err
	case known == "ended":
		return was, false, ErrEnded
	case known == "":
		return running, true, nil
	}
	return was, false, json.Unmarshal([]byte(known), &was)
}

// running is a request that begins, and its text.
func (o *redisOutcomes) running(body [sha256.Size]byte, token string) (Outcome, []byte) {
	running := Outcome{Body: body, Started: o.Now(), Token: token}
	text, _ := json.Marshal(running) // texts, numbers and bytes always encode
	return running, text
}

// Join is [Outcomes.Join]. One script chooses and lists, so that of two simultaneous repetitions only one runs.
func (o *redisOutcomes) Join(ctx context.Context, all IdempotencyName, body [sha256.Size]byte, a Attempt) (name IdempotencyName,
	was Outcome, runs bool, err error,
) {
	name = IdempotencyName{all.Team, all.Digest + "." + rand.Text()}
	running, text := o.running(body, a.Token)
	reply, err := o.run(ctx, joinScript, []string{equalKey(all), outcomeKey(name), endedKey(all.Team, a.Token)},
		"attempt", a.Number, "counts", flag(a.Counts), "patience", a.Patience.Microseconds(), "name", name.Digest, "value", text,
		"life", o.TTL.Milliseconds(), "most", mostEqual, "wait", refusedFor.Microseconds()).StringSlice()
	switch {
	case err != nil || len(reply) != 2:
		o.forgetLater(name, a.Token) // it may have been written, or be written later
		return name, was, false, cmp.Or(err, errMixed)
	case reply[0] == "ended":
		return name, was, false, ErrEnded
	case reply[0] == "new":
		return name, running, true, nil
	}
	name.Digest = reply[1]
	was, runs, err = o.Begin(ctx, name, body, a.Token)
	return name, was, runs, err
}

func (o *redisOutcomes) forgetLater(name IdempotencyName, token string) {
	o.pending.add(name.Team, func(ctx context.Context) error { return o.forget(ctx, name, token) })
}

// Leave is [Outcomes.Leave]. If it fails, a repetition may take another of the equal requests.
func (o *redisOutcomes) Leave(ctx context.Context, name IdempotencyName) {
	all, _ := name.equals()
	_ = o.run(ctx, leaveScript, []string{equalKey(all)}, "name", name.Digest).Err()
}

// forget frees a name if it still belongs to that request: a late or repeated write must not free another request's.
// Otherwise the request's Begin or Join may still be on its way, and will take no name.
func (o *redisOutcomes) forget(ctx context.Context, name IdempotencyName, token string) error {
	all, _ := name.equals()
	return o.run(ctx, forgetScript, []string{outcomeKey(name), equalKey(all), endedKey(name.Team, token)},
		"token", token, "name", name.Digest, "wait", refusedFor.Milliseconds(), "ended", endedFor.Milliseconds()).Err()
}

// End remembers the outcome, now or later, or forgets the name if it has no status.
func (o *redisOutcomes) End(ctx context.Context, name IdempotencyName, _ [sha256.Size]byte, outcome Outcome) {
	text, _ := json.Marshal(outcome)
	end := func(ctx context.Context) error {
		if outcome.Status == 0 {
			return o.forget(ctx, name, outcome.Token)
		}
		call, cancel := o.short(ctx)
		defer cancel()
		return o.Client.Set(call, outcomeKey(name), text, o.TTL).Err()
	}
	if end(ctx) != nil {
		o.pending.add(name.Team, end)
	}
}
