package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
)

func onceKey(name OnceName) string { return schema + "{" + name.Team + "}:once:" + name.Digest }

// Begin lets the first request with a name run, and returns what is remembered of it to all others; to the first, what it
// ends by.
func (r *Redis) Begin(ctx context.Context, name OnceName, body [sha256.Size]byte) (was Outcome, first bool, err error) {
	running := Outcome{Body: body, Started: r.Now(), Token: rand.Text()}
	text, err := json.Marshal(running)
	if err != nil {
		return was, false, err
	}
	first, err = r.setFirst(ctx, onceKey(name), text, r.TTL)
	switch {
	case err != nil: // it may have taken effect, and nothing will run
		r.later(name.Team, func(ctx context.Context) error { return r.forgetOnce(ctx, name, running.Token) })
		return was, false, err
	case first:
		return running, true, nil
	}
	known, found, err := r.get(ctx, onceKey(name))
	switch {
	case err != nil:
		return was, false, err
	case !found: // it ended in between
		return r.Begin(ctx, name, body)
	}
	return was, false, json.Unmarshal([]byte(known), &was)
}

// forgetOnce frees a name if it still stands for that request: what is told late, or twice, must not free another's.
func (r *Redis) forgetOnce(ctx context.Context, name OnceName, token string) error {
	return r.run(ctx, forgetScript, []string{onceKey(name)}, token).Err()
}

// End remembers the outcome, now or later, or forgets the name where it has no status.
func (r *Redis) End(ctx context.Context, name OnceName, _ [sha256.Size]byte, outcome Outcome) {
	text, err := json.Marshal(outcome)
	if err != nil {
		return
	}
	end := func(ctx context.Context) error {
		if outcome.Status == 0 {
			return r.forgetOnce(ctx, name, outcome.Token)
		}
		return r.set(ctx, onceKey(name), text, r.TTL)
	}
	if end(ctx) != nil {
		r.later(name.Team, end)
	}
}
