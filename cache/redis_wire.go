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
