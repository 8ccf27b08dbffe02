package failover

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// A hold that Redis may have is never settled here: it would count twice. A hold that is in Redis stays there, and a
// settlement in Redis ends it in every state.
func TestHoldStates(t *testing.T) {
	for _, from := range []holdState{localOnly, maybeInRedis, inRedis} {
		for _, event := range []holdEvent{reported, heldInRedis, requestEnded, taskEnded, settledInRedis} {
			to := nextState[from][event]
			switch {
			case from == inRedis && to != inRedis:
				t.Errorf("event %d brings back what is in Redis", event)
			case from == maybeInRedis && to == localOnly:
				t.Errorf("after event %d the state says that Redis does not know a hold that it may have", event)
			case from == maybeInRedis && (event == requestEnded || event == taskEnded) && to == inRedis:
				t.Error("a hold that Redis may have is settled here")
			case event == taskEnded && from == localOnly && to != maybeInRedis:
				t.Error("a task is settled here, although another replica may see its end")
			case event == reported && from != inRedis && to != maybeInRedis:
				t.Error("Redis has the hold, and the state says that it does not know it")
			case (event == heldInRedis || event == settledInRedis) && to != inRedis:
				t.Errorf("it is kept although Redis has it: event %d", event)
			}
		}
	}
}

func hold(id string, team *teams.Team, amounts limit.Amounts) limit.Hold {
	return limit.Hold{ID: id, Team: team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: amounts}
}

func id(n int) string { return fmt.Sprintf("h%d", n) }

// idAt is a request's id of that moment.
func idAt(at time.Time, n int) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7000-8000-%012x", ms[:8], ms[8:], n)
}
