package cache

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
