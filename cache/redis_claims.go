package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// storedClaim is the part of a claim that never changes.
type storedClaim struct {
	Key   string
	Model string
	Hold  Hold
	Trace string `json:",omitempty"`
}

// Put claims a task for a team from this moment on, here at once and in Redis now or later, and reports whether it is the
// team's. While Redis is away it is, until Redis tells that another team had claimed it before.
func (r *Redis) Put(ctx context.Context, claim Claim) bool {
	claim.Created = r.Now()
	claim.Fetched, claim.Tally = claim.Created, new(Tally)
	ours, err := r.put(ctx, &claim)
	if err != nil {
		r.later(claim.Team, func(ctx context.Context) error { _, err := r.put(ctx, &claim); return err })
	}
	return ours
}

// put tells Redis of a claim, unless the task is another team's, which it reports; then nothing is known of it here either.
func (r *Redis) put(ctx context.Context, claim *Claim) (ours bool, err error) {
	owner, err := r.owner(ctx, claim)
	if err == nil && owner != claim.Team {
		r.near.forget(claim.Team, claim.Task)
		return false, nil
	}
	r.near.keep(claim)
	if err == nil {
		_, err = r.write(ctx, r.latest(claim), 0, r.loses(claim.Team))
	}
	return true, err
}

// owner makes a task the team's, if it is no other's, and returns the team whose it is.
func (r *Redis) owner(ctx context.Context, claim *Claim) (team string, err error) {
	key := ownerKey(claim.Task)
	first, err := r.setFirst(ctx, key, claim.Team, max(r.kept(claim)-r.Now().Sub(claim.Created), time.Millisecond))
	if err != nil || first {
		return claim.Team, err
	}
	team, found, err := r.get(ctx, key)
	if err == nil && !found { // it ended in between, and the next claim is another life's
		team = claim.Team
	}
	return team, err
}

// latest is a claim as it is known here by now. Who is told that a task runs which has ended would ask for it again.
func (r *Redis) latest(claim *Claim) *Claim {
	if later := r.near.get(claim.Team, claim.Task); later != nil {
		return later
	}
	return claim
}

// write tells Redis of a claim, and reports whether it knew none of that task. It is due so long from now and nobody asks for
// it before; at once, where that is nothing. back says that others of the team's are put back, too: until they are, no replica
// may deny one.
func (r *Redis) write(ctx context.Context, claim *Claim, due time.Duration, back bool) (first bool, err error) {
	static, err := json.Marshal(storedClaim{claim.Key, claim.Model, claim.Hold, claim.Trace})
	if err != nil {
		return false, err
	}
	answer, err := json.Marshal(claim.Answer)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	r.teams[claim.Team] = true
	r.mu.Unlock()
	before := r.remembers(claim.Team)
	age, heard := max(r.Now().Sub(claim.Created), 0), max(r.Now().Sub(claim.Fetched), 0) // it may have waited for Redis
	reply, err := r.run(ctx, putScript, []string{taskKey(claim.Team, claim.Task), tasksKey(claim.Team), dueKey(claim.Team), askingKey(claim.Team, claim.Task), memoryKey(claim.Team)},
		claim.Task, max((r.kept(claim)-age).Milliseconds(), 1), age.Microseconds(), heard.Microseconds(), due.Microseconds(),
		r.TTL.Microseconds(), (r.TTL + unheardFor).Milliseconds(), flag(claim.Final()), flag(back), before.epoch,
		"team", claim.Team, "task", claim.Task, "claim", static, "answer", answer, "body", claim.Body,
		"rank", claim.Answer.Status.rank(), "final", flag(claim.Final()), "asks", claim.Asks, "served", claim.Served, "sent", claim.Sent).Slice()
	if err != nil {
		r.missed(claim.Team)
		return false, err
	}
	reply, now, _, err := tail(reply)
	if err != nil || len(reply) != 2 {
		return false, errMixed
	}
	r.saw(claim.Team, before, now)
	stands := *claim
	stands.written, _ = reply[1].(string)
	r.near.keep(&stands)
	return reply[0] == int64(1), nil
}

// kept is how long after its creation a claim is kept.
func (r *Redis) kept(claim *Claim) time.Duration {
	if claim.Final() {
		return r.TTL
	}
	return r.TTL + unheardFor
}

// Get returns a team's claim. What is known here to be final or fresh is not looked up; what is known here serves while
// Redis is away. Where nothing is known an error is returned while Redis is away, and until others have told it what they
// kept meanwhile.
func (r *Redis) Get(ctx context.Context, team, task string) (Claim, bool, error) {
	here := r.near.get(team, task)
	if here != nil && (here.Final() || r.Now().Sub(here.Fetched) < r.Fresh) {
		return r.alive(here)
	}
	claim, told, err := r.find(ctx, team, task)
	switch {
	case here != nil && (err != nil || claim == nil): // not told yet, or lost with Redis's memory
		if err == nil && here.written != "" {
			r.rest(ctx, here)
		}
		return r.alive(here)
	case err != nil:
		return Claim{}, false, err
	case claim == nil && !told:
		return Claim{}, false, errUntold
	case claim == nil:
		return Claim{}, false, nil
	}
	return r.alive(r.near.keep(claim))
}

// find asks Redis for a task. Where it knows none, told says that no other replica may have it to tell.
func (r *Redis) find(ctx context.Context, team, task string) (claim *Claim, told bool, err error) {
	before := r.remembers(team)
	reply, err := r.run(ctx, readScript, []string{taskKey(team, task), memoryKey(team)}).Slice()
	if err != nil {
		r.missed(team)
		return nil, false, err
	}
	reply, now, back, err := tail(reply)
	if err != nil {
		return nil, false, err
	}
	r.saw(team, before, now)
	claim, err = r.read(team, task, reply)
	return claim, (back < 0 || back >= tellTime) && !r.untold(team), err
}

// alive hides a task that the service has forgotten.
func (r *Redis) alive(claim *Claim) (Claim, bool, error) {
	if r.Now().Sub(claim.Created) > r.TTL {
		return Claim{}, false, nil
	}
	return *claim, true, nil
}

// read reads a task as read.lua returns it. It is nil where there is none. Moments are turned into this process's.
func (r *Redis) read(team, task string, reply []any) (*Claim, error) {
	if len(reply) < 2 {
		return nil, errMixed
	}
	if reply[1] == nil {
		return nil, nil //nolint:nilnil // an absent task is no error
	}
	fields := make([]string, 12)
	for i := range fields {
		if i >= len(reply) {
			return nil, errMixed
		}
		text, ok := reply[i].(string)
		if !ok {
			return nil, errMixed
		}
		fields[i] = text
	}
	if fields[1] != team || fields[2] != task { // another team's, or another question's: never shown
		return nil, errMixed
	}
	claim := &Claim{Team: team, Task: task, Body: []byte(fields[5]), Tally: new(Tally)}
	var static storedClaim
	if err := errors.Join(json.Unmarshal([]byte(fields[3]), &static), json.Unmarshal([]byte(fields[4]), &claim.Answer)); err != nil {
		return nil, fmt.Errorf("the claim of task %s of team %s cannot be read: %w", task, team, err)
	}
	claim.Key, claim.Model, claim.Hold, claim.Trace = static.Key, static.Model, static.Hold, static.Trace
	now, _ := strconv.ParseInt(fields[0], 10, 64)
	created, _ := strconv.ParseFloat(fields[6], 64)
	fetched, _ := strconv.ParseFloat(fields[7], 64)
	claim.Created = r.Now().Add(-time.Duration(now-int64(created)) * time.Microsecond)
	claim.Fetched = r.Now().Add(-time.Duration(now-int64(fetched)) * time.Microsecond)
	claim.Asks, _ = strconv.Atoi(fields[8])
	claim.Served, _ = strconv.ParseInt(fields[9], 10, 64)
	claim.Sent, _ = strconv.ParseInt(fields[10], 10, 64)
	claim.written, claim.fetched = fields[11], int64(fetched)
	return claim, nil
}

// Take lets one caller of all replicas ask upstream about a task, until the answer is heard or the task is released.
func (r *Redis) Take(ctx context.Context, team, task string) (Turn, error) {
	mine, err := r.setFirst(ctx, askingKey(team, task), turnBusy, asking)
	if err != nil || mine {
		return Mine, err
	}
	if state, _, err := r.get(ctx, askingKey(team, task)); err == nil && state == turnResting {
		return Resting, nil
	}
	return Busy, nil
}

// What stands at a task's turn.
const (
	turnBusy    = "asking"
	turnResting = "resting"
)

// Release lets others ask again once that long has passed. What fails ends by itself.
func (r *Redis) Release(ctx context.Context, team, task string, after time.Duration) {
	if after > 0 {
		_ = r.set(ctx, askingKey(team, task), turnResting, after)
	} else {
		_ = r.del(ctx, askingKey(team, task))
	}
}

// Hear keeps an answer unless a later state is known, and returns the claim as it stands. Without Redis it is kept here,
// and told later.
func (r *Redis) Hear(ctx context.Context, heard *Claim, answer Answer, body []byte, asks int) (Claim, error) {
	tell := func(ctx context.Context) (*Claim, error) { return r.tell(ctx, heard, answer, body, asks) }
	claim, err := tell(ctx)
	if err == nil && claim != nil {
		return *r.near.keep(claim), nil
	}
	here := *heard
	if here.Answer.passes(answer) {
		here.Answer, here.Body, here.Fetched, here.Asks, here.fetched = answer, body, r.Now(), asks, 0
	}
	if here.Final() { // Redis is away, or was not told of the claim yet
		r.later(heard.Team, func(ctx context.Context) error { _, err := tell(ctx); return err })
	}
	return *r.near.keep(&here), nil
}

// tell tells Redis of an answer and returns the claim as it stands there; nil where Redis knows none.
func (r *Redis) tell(ctx context.Context, heard *Claim, answer Answer, body []byte, asks int) (*Claim, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	served, sent := heard.Tally.take()
	before := r.remembers(heard.Team)
	reply, err := r.run(ctx, hearScript,
		[]string{taskKey(heard.Team, heard.Task), dueKey(heard.Team), askingKey(heard.Team, heard.Task), memoryKey(heard.Team)},
		heard.Task, answer.Status.rank(), flag(answer.Status.Final()), text, body, asks, r.TTL.Microseconds(), served, sent).Slice()
	if err != nil {
		heard.Tally.give(served, sent)
		r.missed(heard.Team)
		return nil, err
	}
	reply, now, _, err := tail(reply)
	if err != nil {
		return nil, err
	}
	r.saw(heard.Team, before, now)
	return r.read(heard.Team, heard.Task, reply)
}
