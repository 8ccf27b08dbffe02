package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// fixedClaim is the part of a claim that never changes.
type fixedClaim struct {
	Key   string
	Model string
	Hold  Hold
	Trace string `json:",omitempty"`
}

// readClaim reads a task as read.lua returns it; nil: there is none. Times are converted to this process's clock, which
// shows here now.
func readClaim(team, task string, reply []any, here time.Time) (*Claim, error) {
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
	if fields[1] != team || fields[2] != task { // another team's task, or the reply to another command
		return nil, errMixed
	}
	claim := &Claim{Team: team, Task: task, Body: []byte(fields[5]), Counts: new(PollCounts)}
	var static fixedClaim
	if err := errors.Join(json.Unmarshal([]byte(fields[3]), &static), json.Unmarshal([]byte(fields[4]), &claim.Answer)); err != nil {
		return nil, fmt.Errorf("the claim of task %s of team %s cannot be read: %w", task, team, err)
	}
	claim.Key, claim.Model, claim.Hold, claim.Trace = static.Key, static.Model, static.Hold, static.Trace
	now, _ := strconv.ParseInt(fields[0], 10, 64)
	created, _ := strconv.ParseFloat(fields[6], 64)
	fetched, _ := strconv.ParseFloat(fields[7], 64)
	claim.Created = here.Add(-time.Duration(now-int64(created)) * time.Microsecond)
	claim.Fetched = here.Add(-time.Duration(now-int64(fetched)) * time.Microsecond)
	claim.Queries, _ = strconv.Atoi(fields[8])
	claim.Served, _ = strconv.ParseInt(fields[9], 10, 64)
	claim.Sent, _ = strconv.ParseInt(fields[10], 10, 64)
	claim.written, claim.fetched = fields[11], int64(fetched)
	return claim, nil
}

// The keys in Redis. All of a team's have the team in their hash tag, so they lie in one slot of a cluster and one script
// may use them all. TTL is the life of a task, SLUICE_TASK_TTL.
//
//	key                        what                                            kept for                   written by
//	sl1:teams                  the ids of all teams                            ever                       policy/limit
//	sl1:queries                the account's wishes for task queries           1 min                      queries.lua
//	sl1:queries:cancel         the same for cancels                            1 min                      queries.lua
//	sl1:task:ID                the team that claimed the task                  TTL and an hour            redisClaims
//	sl1:{TEAM}:task:ID         the claim and the last answer                   TTL; an hour more if open  put.lua, hear.lua
//	sl1:{TEAM}:task:ID:asking  who queries the service about it, or a pause    as long as that lasts      redisTurns, put.lua
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
func ownerKey(task string) string            { return KeyPrefix + "task:" + task }

func taskKeys(team string, ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = taskKey(team, id)
	}
	return keys
}
