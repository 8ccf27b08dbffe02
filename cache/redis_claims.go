package cache

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisClaims keeps claims and their answers: here immediately, and in Redis now or later.
type redisClaims struct {
	*store
	local   *localCache
	pending *pendingWrites
	agenda  *redisAgenda
	losses  *losses
	restore []*Claim     // claims that Redis lost; only Maintain uses this and the next field
	forgot  time.Time    // when forget last looked
	denied  atomic.Int64 // claims made without Redis whose task turned out to be claimed already, since Maintain last said so
}

// errIncomplete is the error for an unknown task that another replica may know.
var errIncomplete = errors.New("Redis was away or lost tasks in the last 10 s, and another replica may not have written the task yet")

// Put claims a task for a team and a hold, here immediately and in Redis now or later, and reports whether the task is theirs. While
// Redis is away it is, unless this process knows an earlier claim, and until Redis reports one.
func (c *redisClaims) Put(ctx context.Context, claim Claim) bool {
	claim.Created = c.Now()
	claim.Fetched, claim.counts = claim.Created, new(counts)
	ours, err := c.put(ctx, &claim)
	if err != nil {
		c.pending.add(claim.Team, func(ctx context.Context) error {
			ours, err := c.put(ctx, &claim)
			if err == nil && !ours {
				c.denied.Add(1)
			}
			return err
		})
	}
	return ours
}

// put writes a claim to Redis in its newest known state: a replica that read an ended task as running would query it again. It
// reports whether the task is the team's, for this hold; if not, the claim is forgotten here too.
func (c *redisClaims) put(ctx context.Context, claim *Claim) (ours bool, err error) {
	owner, err := c.owner(ctx, claim)
	if err == nil && owner != claim.Team {
		c.local.claims.Invalidate(owned{claim.Team, claim.Task})
		return false, nil
	}
	if c.local.merge(claim).Hold.ID != claim.Hold.ID {
		return false, nil
	}
	if err == nil {
		_, ours, err = c.write(ctx, c.local.latest(claim), 0, c.losses.hasLost(claim.Team))
	}
	return ours || err != nil, err
}

// Owner returns the team that claimed a task. known is false for an absent task and an expired one.
func (c *redisClaims) Owner(ctx context.Context, task string) (team string, known bool, err error) {
	return c.get(ctx, ownerKey+task)
}

// owner makes the team the task's owner unless it has one, and returns the owner.
func (c *redisClaims) owner(ctx context.Context, claim *Claim) (team string, err error) {
	key := ownerKey + claim.Task
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

// ask runs a script about a team's tasks. Its reply has three parts, of which the last describes the memory of Redis,
// so that ask notices losses. restored is how long ago a claim was last restored there; below 0: never.
func (c *redisClaims) ask(ctx context.Context, script *redis.Script, team string, keys []string, args ...any) (first, second any,
	restored time.Duration, err error,
) {
	before := c.losses.seen(team)
	reply, err := c.run(ctx, script, append(keys, memoryKey(team)), append(args, "epoch", before.epoch)...).Slice()
	if err != nil {
		c.losses.missed(team)
		return nil, nil, 0, err
	}
	if len(reply) != 3 {
		return nil, nil, 0, errMixed
	}
	now, restored, err := readMemory(reply[2])
	if err == nil {
		c.losses.saw(team, before, now)
	}
	return reply[0], reply[1], restored, err
}

// write writes a claim to Redis, unless Redis has one, and reports whether it did so, and whether the claim there is of the same hold.
// due is the wait until the task is due and callers may query it; 0: none. restoring: other claims of the team are being restored,
// too, and no replica may deny an unknown task meanwhile.
func (c *redisClaims) write(ctx context.Context, claim *Claim, due time.Duration, restoring bool) (first, ours bool, err error) {
	fixed, _ := json.Marshal(claim) // texts and numbers always encode
	answer, _ := json.Marshal(claim.Answer)
	team, task := claim.Team, claim.Task
	c.agenda.add(team)
	age, heard := max(c.Now().Sub(claim.Created), 0), max(c.Now().Sub(claim.Fetched), 0) // it may have been pending
	is, written, _, err := c.ask(ctx, putScript, team, []string{taskKey(team, task), tasksKey(team), dueKey(team), turnKey(team, task)},
		"team", team, "task", task, "claim", fixed, "answer", answer, "body", claim.Body, "rank", claim.Answer.Status.rank(), "final",
		flag(claim.Final()),
		"asks", claim.Queries, "served", claim.Served, "sent", claim.Sent, "streamed", claim.Answer.Streamed, "age", age.Microseconds(), "heard",
		heard.Microseconds(), "life", max((c.kept(claim)-age).Milliseconds(), 1), "due", due.Microseconds(), "listed", c.TTL.Microseconds(),
		"lists", (c.TTL + unheardFor).Milliseconds(), "restored", flag(restoring))
	if err != nil {
		return false, false, err
	}
	stands := *claim
	if before, ok := is.(string); ok {
		var earlier Claim
		if err := json.Unmarshal([]byte(before), &earlier); err != nil || earlier.Hold.ID != claim.Hold.ID {
			c.local.claims.Invalidate(owned{team, task})
			return false, false, nil
		}
	}
	stands.written, _ = written.(string)
	c.local.merge(&stands)
	return is == int64(1), true, nil
}

// Get returns a team's claim. If a final or fresh claim is known here, Redis is not asked, and while Redis is away any
// claim that is known here is returned. An unknown task is an error while Redis is away, and until other replicas have
// written their pending claims.
func (c *redisClaims) Get(ctx context.Context, team, task string) (Claim, bool, error) {
	here := c.local.get(team, task)
	if c.serves(here) {
		return c.unexpired(here)
	}
	claim, complete, err := c.find(ctx, team, task)
	switch {
	case here != nil && (err != nil || claim == nil): // not written yet, or lost with Redis's memory
		if err == nil && here.written != "" { // no replica may query a lost task yet; if this fails, the next look tries again
			_, _ = c.setFirst(ctx, turnKey(team, task), turnResting, restoreDue)
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

// Here reports, without a call of Redis, whether this process knows a team's task, and whether Get answers from here.
func (c *redisClaims) Here(team, task string) (known, serves bool) {
	here := c.local.get(team, task)
	return here != nil, c.serves(here)
}

// find reads a task from Redis. If it is absent, complete reports that no replica has such a claim pending.
func (c *redisClaims) find(ctx context.Context, team, task string) (claim *Claim, complete bool, err error) {
	now, fields, restored, err := c.ask(ctx, readScript, team, []string{taskKey(team, task)})
	if err != nil {
		return nil, false, err
	}
	claim, err = c.readClaim(team, task, now, fields)
	return claim, (restored < 0 || restored >= repeatTime) && !c.losses.incomplete(team), err
}

// Exist returns which of the tasks are a team's, without reading them, in one round trip. A task that Redis may have lost, or
// that another replica may still have to write, counts as the team's: Get decides.
func (c *redisClaims) Exist(ctx context.Context, team string, tasks []string) (map[string]bool, error) {
	exist := make(map[string]bool, len(tasks))
	var missing []string
	for chunk := range slices.Chunk(tasks, mostInScript) {
		call, cancel := c.long(ctx)
		found := inOneTrip(call, c.store, chunk, func(pipe redis.Pipeliner, task string) *redis.IntCmd {
			return pipe.Exists(call, taskKey(team, task))
		})
		cancel()
		for i, task := range chunk {
			n, err := found[i].Result()
			if err != nil {
				return nil, err
			}
			if exist[task] = n > 0; n == 0 {
				missing = append(missing, task)
			}
		}
	}
	if len(missing) == 0 {
		return exist, nil
	}
	_, complete, err := c.find(ctx, team, missing[0])
	for _, task := range missing {
		exist[task] = !complete
	}
	return exist, err
}

// Hear records an answer unless a later state is known, and returns the resulting claim. Without Redis the answer is
// kept here, and if it ends the task it is written later.
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

// writeAnswer writes an answer to Redis and returns the resulting claim; nil if Redis has none.
func (c *redisClaims) writeAnswer(ctx context.Context, heard *Claim, answer Answer, body []byte, queries int) (*Claim, error) {
	text, _ := json.Marshal(answer)
	team, task, n := heard.Team, heard.Task, heard.counted()
	n.encrypted.Store(0)
	served, sent := n.served.Swap(0), n.sent.Swap(0)
	now, fields, _, err := c.ask(ctx, hearScript, team, []string{taskKey(team, task), dueKey(team), turnKey(team, task)},
		"task", task, "hold", heard.Hold.ID, "rank", answer.Status.rank(), "final", flag(answer.Status.Final()), "answer", text, "body", body,
		"asks", queries,
		"known", c.TTL.Microseconds(), "served", served, "sent", sent)
	if err != nil {
		n.served.Add(served)
		n.sent.Add(sent)
		return nil, err
	}
	return c.readClaim(team, task, now, fields)
}

// Streamed keeps what the stream of a claimed task's creation counted, here immediately and in Redis now or later, unless the task has
// ended. It is no answer.
func (c *redisClaims) Streamed(ctx context.Context, claim *Claim, counted string) {
	here := *claim
	here.Answer.Streamed = counted
	c.local.merge(&here)
	write := func(ctx context.Context) error { return writeStreamed(ctx, c, &here) }
	if write(ctx) != nil {
		c.pending.add(here.Team, write)
	}
}

// writeStreamed writes a claim's Streamed to Redis, unless the task has ended there.
func writeStreamed(ctx context.Context, c *redisClaims, claim *Claim) error {
	team, task, counted := claim.Team, claim.Task, claim.Answer.Streamed
	now, fields, _, err := c.ask(ctx, streamScript, team, []string{taskKey(team, task)}, "hold", claim.Hold.ID, "streamed", counted)
	if err != nil {
		return err
	}
	kept, err := c.readClaim(team, task, now, fields)
	if kept != nil {
		c.local.merge(kept)
	}
	return err
}

// The values of a task's turn.
const (
	turnBusy    = "asking"
	turnResting = "resting"
)

// Take lets one caller of all replicas query the service about a task, until an answer is recorded or the task is released.
func (c *redisClaims) Take(ctx context.Context, team, task string) (Turn, error) {
	mine, err := c.setFirst(ctx, turnKey(team, task), turnBusy, turnTime)
	if err != nil || mine {
		return Mine, err
	}
	if state, _, err := c.get(ctx, turnKey(team, task)); err == nil && state == turnResting {
		return Resting, nil
	}
	return Busy, nil
}

// Release lets others query after that time. If it fails, the turn ends by itself.
func (c *redisClaims) Release(ctx context.Context, team, task string, after time.Duration) {
	call, cancel := c.short(ctx)
	defer cancel()
	if after > 0 {
		_ = c.Client.Set(call, turnKey(team, task), turnResting, after).Err()
	} else {
		_ = c.Client.Del(call, turnKey(team, task)).Err()
	}
}
