package tasks

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// known has the states that package cache has a word for.
var known = map[cache.Status]bool{
	cache.Pending: true, cache.Suspended: true, cache.Running: true, cache.Succeeded: true, cache.Failed: true, cache.Canceled: true, cache.Cancelled: true,
}

// alarm tells the operator if the service does not know a task that it should know, or has a word for its state that Sluice does not
// know. Neither changes the task: the query counts as failed, and the state as running.
func (q *queries) alarm(claim *cache.Claim, reply *Reply, answer *cache.Answer) {
	raise := func(code, format string, args ...any) {
		q.deps.Alarm(code, cmp.Or(claim.Account, teams.MainAccount), fmt.Sprintf(format, args...))
	}
	named := answer.Task == claim.Task
	switch {
	case !q.canWait(claim): // the service is about to forget it, or has done so
	case reply.Status == http.StatusNotFound, reply.Status == http.StatusOK && answer.Status == cache.Unknown && (named || answer.Task == ""):
		age := q.deps.Now().Sub(claim.Created).Round(time.Second)
		raise(telemetry.AlarmTaskUnknown, "the service does not know the task %s of team %s, which is %s old", claim.Task, claim.Team, age)
	case reply.Status == http.StatusOK && named && answer.Status != "" && !known[answer.Status]:
		status := policy.Brief(q.deps.Cover(string(answer.Status)))
		raise(telemetry.AlarmTaskStatus, "the service says of the task %s of team %s: %s, which counts as running", claim.Task, claim.Team, status)
	}
}
