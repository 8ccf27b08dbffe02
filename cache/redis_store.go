package cache

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scripts embed.FS

// The scripts. Each is about one team's tasks, or about an account's queries.
var (
	putScript     = script("put")
	hearScript    = script("hear")
	streamScript  = script("streamed")
	readScript    = script("read")
	tasksScript   = script("tasks")
	namesScript   = script("names")
	dueScript     = script("due")
	queriesScript = script("queries")
	beginScript   = script("begin")
	joinScript    = script("join")
	leaveScript   = script("leave")
	forgetScript  = script("forget")
)

// script assembles a script after the part that all share. Without its comment lines it is short enough for a
// pipeline, which sends the text with each call.
func script(name string) *redis.Script {
	var text strings.Builder
	for _, part := range []string{"common", name} {
		file, err := scripts.ReadFile("scripts/" + part + ".lua")
		if err != nil {
			panic(err) // it is not embedded
		}
		for line := range strings.Lines(string(file)) {
			if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "--") {
				text.WriteString(line)
			}
		}
	}
	return redis.NewScript(text.String())
}

// errMixed means that a reply belongs to another call: the connection is out of step.
var errMixed = errors.New("Redis sent the reply to another call")

// RedisConfig configures [NewRedis].
type RedisConfig struct {
	Client  redis.UniversalClient // MUST NOT send a command twice by itself
	Timeout time.Duration         // of one call that a request waits for
	TTL     time.Duration         // how long the service knows a task
	Fresh   time.Duration         // for how long an answer that is not final is served without another look-up
	Rate    int                   // task queries a second of all replicas, for an account without a rate of its own; the same for cancels
	Now     func() time.Time
	// Memory numbers the memories of Redis that this process has seen, above 0: another number means that Redis lost its memory,
	// was restarted, or went back to an older copy. Nil: only the counts of claims show that.
	Memory func() int64
	// Fence does background work, reports a panic of it to the operator, and returns whether it ended without one. Nil: a panic ends the
	// process.
	Fence func(work func()) (whole bool)
}

// fenced does background work, also without a Fence.
func (c *RedisConfig) fenced(work func()) (whole bool) {
	if c.Fence != nil {
		return c.Fence(work)
	}
	work()
	return true
}

// store makes the calls of Redis.
type store struct{ RedisConfig }

// short bounds a call that a request waits for. The call is made even if the request's client has left.
func (s *store) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
}

// long bounds a large call, or one that no request waits for.
func (s *store) long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(s.Timeout, time.Second))
}

// run runs a script. args are names and values in turn.
func (s *store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	call, cancel := s.short(ctx)
	defer cancel()
	return script.Run(call, s.Client, keys, args...)
}

// runAll runs a script once for each list of keys, with the same arguments, in one round trip. Its replies are lists.
func (s *store) runAll(ctx context.Context, script *redis.Script, calls [][]string, args ...any) ([][]any, error) {
	replies := make([][]any, len(calls))
	for i, cmd := range inOneTrip(ctx, s, calls, func(pipe redis.Pipeliner, keys []string) *redis.Cmd {
		return script.Eval(ctx, pipe, keys, args...) // a pipeline does not fall back from EVALSHA
	}) {
		var err error
		if replies[i], err = cmd.Slice(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// inOneTrip queues a command for each key or list of keys and sends them together. Each command has its own error, so that a shard
// that is away hides its own keys only.
func inOneTrip[K any, C redis.Cmder](ctx context.Context, s *store, keys []K, queue func(pipe redis.Pipeliner, key K) C) []C {
	cmds := make([]C, len(keys))
	pipe := s.Client.Pipeline()
	for i, key := range keys {
		cmds[i] = queue(pipe, key)
	}
	if len(keys) > 0 {
		_, _ = pipe.Exec(ctx)
	}
	return cmds
}

// setFirst sets a value unless the key exists, and reports whether it did so.
func (s *store) setFirst(ctx context.Context, key string, value any, lives time.Duration) (bool, error) {
	call, cancel := s.short(ctx)
	defer cancel()
	return s.Client.SetNX(call, key, value, lives).Result()
}

func (s *store) get(ctx context.Context, key string) (value string, found bool, err error) {
	call, cancel := s.short(ctx)
	defer cancel()
	value, err = s.Client.Get(call, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return value, err == nil, err
}

// kept is how long a claim is kept after its creation.
func (s *store) kept(claim *Claim) time.Duration {
	if claim.Final() {
		return s.TTL
	}
	return s.TTL + unheardFor
}

// unexpired hides a task that the service has forgotten.
func (s *store) unexpired(claim *Claim) (Claim, bool, error) {
	if s.Now().Sub(claim.Created) > s.TTL {
		return Claim{}, false, nil
	}
	return *claim, true, nil
}

// serves reports whether a claim that is known here needs no look-up; nil: unknown here.
func (s *store) serves(here *Claim) bool {
	return here != nil && (here.Final() || s.Now().Sub(here.Fetched) < s.Fresh)
}

// readClaim reads a task's fields in a reply; nil: no such task. now is Redis's time in the reply. Times are converted to this
// process's clock.
func (s *store) readClaim(team, task string, now, reply any) (*Claim, error) {
	values, _ := reply.([]any)
	if len(values) > 0 && values[0] == nil {
		return nil, nil //nolint:nilnil // an absent task is no error
	}
	var itsTeam, itsTask, fixed, answer, body, created, fetched, asks, served, sent, written, streamed, at string
	fields := [...]*string{&itsTeam, &itsTask, &fixed, &answer, &body, &created, &fetched, &asks, &served, &sent, &written, &streamed, &at}
	if len(values) != len(fields)-1 {
		return nil, errMixed
	}
	for i, value := range append(values, now) {
		text, ok := value.(string)
		if !ok {
			return nil, errMixed
		}
		*fields[i] = text
	}
	if itsTeam != team || itsTask != task { // another team's task, or the reply to another command
		return nil, errMixed
	}
	claim := &Claim{Team: team, Task: task, Body: []byte(body), counts: new(counts), written: written}
	if err := errors.Join(json.Unmarshal([]byte(fixed), claim), json.Unmarshal([]byte(answer), &claim.Answer)); err != nil {
		return nil, fmt.Errorf("the claim of task %s of team %s cannot be read: %w", task, team, err)
	}
	claim.Answer.Streamed = cmp.Or(streamed, claim.Answer.Streamed) // replicas of an older version keep it in the answer
	here, micros := s.Now(), func(text string) int64 {
		n, _ := strconv.ParseFloat(text, 64) // as Lua wrote it
		return int64(n)
	}
	claim.fetched = micros(fetched)
	claim.Created = here.Add(-time.Duration(micros(at)-micros(created)) * time.Microsecond)
	claim.Fetched = here.Add(-time.Duration(micros(at)-claim.fetched) * time.Microsecond)
	claim.Queries, _ = strconv.Atoi(asks)
	claim.Served, _ = strconv.ParseInt(served, 10, 64)
	claim.Sent, _ = strconv.ParseInt(sent, 10, 64)
	return claim, nil
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// The keys in Redis. All of a team's have the team in their hash tag, so they lie in one slot of a cluster and one script
// may use them all. TTL is the life of a task, SLUICE_TASK_TTL.
//
//	key                        what                                            kept for                   written by
//	sl1:teams                  the ids of all teams                            ever                       policy/limit
//	sl1:queries                the account main's wishes for task queries      1 min                      queries.lua
//	sl1:queries:cancel         the same for cancels                            1 min                      queries.lua
//	sl1:queries:of:ACCOUNT     the same of another account at the service      1 min                      queries.lua
//	sl1:queries:cancel:of:…    the same for cancels                            1 min                      queries.lua
//	sl1:task:ID                the team that claimed the task                  TTL and an hour            redisClaims
//	sl1:{TEAM}:task:ID         the claim and the last answer                   TTL; an hour more if open  put.lua, hear.lua, streamed.lua
//	sl1:{TEAM}:task:ID:asking  who queries the service about it, or a pause    as long as that lasts      redisClaims, put.lua
//	sl1:{TEAM}:tasks           ids by creation, for lists                      TTL and an hour            put.lua
//	sl1:{TEAM}:due             ids by when the finisher queries them           TTL and an hour            put.lua, due.lua
//	sl1:{TEAM}:claims          when this memory began, how many claims it has  ever                       put.lua
//	sl1:{TEAM}:once:DIGEST     the outcome of a request that runs once         TTL                        redisOutcomes, join.lua, begin.lua
//	sl1:{TEAM}:equal:DIGEST    the requests that are equal                     TTL                        join.lua, begin.lua, forget.lua
//	sl1:{TEAM}:ended:TOKEN     that a request ended before it began            15 min                     forget.lua

// KeyPrefix begins every key. Another number means another layout: replicas of two versions must not share one.
const KeyPrefix = "sl1:"

const (
	teamsKey   = KeyPrefix + "teams"
	queriesKey = KeyPrefix + "queries"
	cancelsKey = queriesKey + ":cancel"
	ofAccount  = ":of:"              // and the account, after the two above; main has none
	ownerKey   = KeyPrefix + "task:" // and the task
)

func teamKey(team, name string) string       { return KeyPrefix + "{" + team + "}:" + name }
func tasksKey(team string) string            { return teamKey(team, "tasks") }
func dueKey(team string) string              { return teamKey(team, "due") }
func memoryKey(team string) string           { return teamKey(team, "claims") }
func taskKey(team, task string) string       { return teamKey(team, "task:"+task) }
func turnKey(team, task string) string       { return taskKey(team, task) + ":asking" }
func outcomeKey(name IdempotencyName) string { return teamKey(name.Team, "once:"+name.Digest) }
func equalKey(all IdempotencyName) string    { return teamKey(all.Team, "equal:"+all.Digest) }
func endedKey(team, token string) string     { return teamKey(team, "ended:"+token) }
