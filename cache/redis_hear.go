package cache

import (
	"context"
	"encoding/json"
)

// Hear keeps an answer unless a later state is known, and returns the claim as it stands. Without Redis it is kept here, and
// an end is written later.
func (c *redisClaims) Hear(ctx context.Context, heard *Claim, answer Answer, body []byte, queries int) (Claim, error) {
	write := func(ctx context.Context) (*Claim, error) { return c.writeAnswer(ctx, heard, answer, body, queries) }
	claim, err := write(ctx)
	if err == nil && claim != nil {
		return *c.local.merge(claim), nil
	}
	here := *heard
	if here.Answer.passes(answer) {
		here.Answer, here.Body, here.Fetched, here.Queries, here.fetched = answer, body, c.Now(), queries, 0
	}
	if here.Final() { // Redis is away, or does not have the claim yet
		c.pending.add(heard.Team, func(ctx context.Context) error { _, err := write(ctx); return err })
	}
	return *c.local.merge(&here), nil
}

// writeAnswer writes an answer to Redis and returns the claim as it stands there; nil if Redis has none.
func (c *redisClaims) writeAnswer(ctx context.Context, heard *Claim, answer Answer, body []byte, queries int) (*Claim, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	served, sent := heard.Counts.take()
	before := c.losses.seen(heard.Team)
	reply, err := c.run(ctx, hearScript,
		[]string{taskKey(heard.Team, heard.Task), dueKey(heard.Team), turnKey(heard.Team, heard.Task), memoryKey(heard.Team)},
		heard.Task, answer.Status.rank(), flag(answer.Status.Final()), text, body, queries, c.TTL.Microseconds(), served, sent).Slice()
	if err != nil {
		heard.Counts.give(served, sent)
		c.losses.missed(heard.Team)
		return nil, err
	}
	reply, now, _, err := cutMemory(reply)
	if err != nil {
		return nil, err
	}
	c.losses.saw(heard.Team, before, now)
	return readClaim(heard.Team, heard.Task, reply, c.Now())
}
