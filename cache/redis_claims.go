package cache

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// redisClaims keeps claims and their answers: here at once, and in Redis now or later.
type redisClaims struct {
	*store
	local   *localCache
	pending *pendingWrites
	losses  *losses
	teams   *openTeams
	turns   *redisTurns
	restore []*Claim // that Redis lost; used by Maintain alone
}

// errIncomplete is why an unknown task is not denied yet.
var errIncomplete = errors.New("Redis was away or lost tasks in the last 10 s, and another replica may not have written the task yet")

// Put claims a task for a team, here at once and in Redis now or later, and reports whether it is the team's. While Redis
// is away it is the team's, until Redis says that another team claimed it before.
func (c *redisClaims) Put(ctx context.Context, claim Claim) bool {
	claim.Created = c.Now()
	claim.Fetched, claim.Counts = claim.Created, new(PollCounts)
	ours, err := c.put(ctx, &claim)
	if err != nil {
		c.pending.add(claim.Team, func(ctx context.Context) error { _, err := c.put(ctx, &claim); return err })
	}
	return ours
}

// put writes a claim to Redis. It reports whether the task is the team's; another team's is forgotten here too.
func (c *redisClaims) put(ctx context.Context, claim *Claim) (ours bool, err error) {
	owner, err := c.owner(ctx, claim)
	if err == nil && owner != claim.Team {
		c.local.forget(claim.Team, claim.Task)
		return false, nil
	}
	c.local.merge(claim)
	if err == nil {
		_, err = c.write(ctx, c.latest(claim), 0, c.losses.hasLost(claim.Team))
	}
	return true, err
}

// owner makes the team the task's owner unless it has one, and returns the owner.
func (c *redisClaims) owner(ctx context.Context, claim *Claim) (team string, err error) {
	key := ownerKey(claim.Task)
	first, err := c.setFirst(ctx, key, claim.Team, max(c.kept(claim)-c.Now().Sub(claim.Created), time.Millisecond))
	if err != nil || first {
		return claim.Team, err
	}
	team, found, err := c.get(ctx, key)
	if err == nil && !found { // the owner's key has just expired
		team = claim.Team
	}
	return team, err
}

// latest is a claim as it is known here by now. A replica that read an ended task as running would query it again.
func (c *redisClaims) latest(claim *Claim) *Claim {
	if later := c.local.get(claim.Team, claim.Task); later != nil {
		return later
	}
	return claim
}

// write writes a claim to Redis, unless Redis has it, and reports whether it did so. The task is due after that long, and no
// caller queries it before; 0: at once. restoring says that other claims of the team are restored too, and that no replica
// may deny an unknown task meanwhile.
func (c *redisClaims) write(ctx context.Context, claim *Claim, due time.Duration, restoring bool) (first bool, err error) {
	static, err := json.Marshal(fixedClaim{claim.Key, claim.Model, claim.Hold, claim.Trace})
	if err != nil {
		return false, err
	}
	answer, err := json.Marshal(claim.Answer)
	if err != nil {
		return false, err
	}
	c.teams.add(claim.Team)
	before := c.losses.seen(claim.Team)
	age, heard := max(c.Now().Sub(claim.Created), 0), max(c.Now().Sub(claim.Fetched), 0) // it may have been pending
	reply, err := c.run(ctx, putScript, []string{taskKey(claim.Team, claim.Task), tasksKey(claim.Team), dueKey(claim.Team), turnKey(claim.Team, claim.Task), memoryKey(claim.Team)},
		claim.Task, max((c.kept(claim)-age).Milliseconds(), 1), age.Microseconds(), heard.Microseconds(), due.Microseconds(),
		c.TTL.Microseconds(), (c.TTL + unheardFor).Milliseconds(), flag(claim.Final()), flag(restoring), before.epoch,
		"team", claim.Team, "task", claim.Task, "claim", static, "answer", answer, "body", claim.Body,
		"rank", claim.Answer.Status.rank(), "final", flag(claim.Final()), "asks", claim.Queries, "served", claim.Served, "sent", claim.Sent).Slice()
	if err != nil {
		c.losses.missed(claim.Team)
		return false, err
	}
	reply, now, _, err := cutMemory(reply)
	if err != nil || len(reply) != 2 {
		return false, errMixed
	}
	c.losses.saw(claim.Team, before, now)
	stands := *claim
	stands.written, _ = reply[1].(string)
	c.local.merge(&stands)
	return reply[0] == int64(1), nil
}

// kept is how long a claim is kept after its creation.
func (c *redisClaims) kept(claim *Claim) time.Duration {
	if claim.Final() {
		return c.TTL
	}
	return c.TTL + unheardFor
}

// Get returns a team's claim. One that is final or fresh here is not looked up in Redis, and one that is known here serves
// while Redis is away. An unknown task returns an error while Redis is away, and until other replicas have written their
// pending claims.
func (c *redisClaims) Get(ctx context.Context, team, task string) (Claim, bool, error) {
	here := c.local.get(team, task)
	if c.serves(here) {
		return c.unexpired(here)
	}
	claim, complete, err := c.find(ctx, team, task)
	switch {
	case here != nil && (err != nil || claim == nil): // not written yet, or lost with Redis's memory
		if err == nil && here.written != "" {
			c.turns.rest(ctx, here.Team, here.Task)
		}
		return c.unexpired(here)
	case err != nil:
		return Claim{}, false, err
	case claim == nil && !complete:
		return Claim{}, false, errIncomplete
	case claim == nil:
		return Claim{}, false, nil
	}
	return c.unexpired(c.local.merge(claim))
}

// Here tells, without a call of Redis, whether this process knows a team's task, and whether Get answers from here.
func (c *redisClaims) Here(team, task string) (known, serves bool) {
	here := c.local.get(team, task)
	return here != nil, c.serves(here)
}

// serves reports whether a claim as it is known here needs no look-up; nil: it is not known.
func (c *redisClaims) serves(here *Claim) bool {
	return here != nil && (here.Final() || c.Now().Sub(here.Fetched) < c.Fresh)
}

// find reads a task from Redis. If there is none, complete says that no replica has such a claim pending.
func (c *redisClaims) find(ctx context.Context, team, task string) (claim *Claim, complete bool, err error) {
	before := c.losses.seen(team)
	reply, err := c.run(ctx, readScript, []string{taskKey(team, task), memoryKey(team)}).Slice()
	if err != nil {
		c.losses.missed(team)
		return nil, false, err
	}
	reply, now, back, err := cutMemory(reply)
	if err != nil {
		return nil, false, err
	}
	c.losses.saw(team, before, now)
	claim, err = readClaim(team, task, reply, c.Now())
	return claim, (back < 0 || back >= repeatTime) && !c.losses.incomplete(team), err
}

// Exist tells which of the tasks are a team's, without reading them. It asks about many in one round trip. A task that Redis may have
// lost, or that another replica may still have to write, counts as the team's: Get decides.
func (c *redisClaims) Exist(ctx context.Context, team string, tasks []string) (map[string]bool, error) {
	exist := make(map[string]bool, len(tasks))
	var missing []string
	for chunk := range slices.Chunk(tasks, filtered) {
		found, err := c.existing(ctx, taskKeys(team, chunk))
		if err != nil {
			return nil, err
		}
		for i, task := range chunk {
			if exist[task] = found[i]; !found[i] {
				missing = append(missing, task)
			}
		}
	}
	if len(missing) == 0 {
		return exist, nil
	}
	_, complete, err := c.find(ctx, team, missing[0])
	if err != nil {
		return nil, err
	}
	for _, task := range missing {
		exist[task] = !complete
	}
	return exist, nil
}

// unexpired hides a task that the service has forgotten.
func (c *redisClaims) unexpired(claim *Claim) (Claim, bool, error) {
	if c.Now().Sub(claim.Created) > c.TTL {
		return Claim{}, false, nil
	}
	return *claim, true, nil
}

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
