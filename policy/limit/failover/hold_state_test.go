package failover

import "testing"

// A hold that Redis may have is never settled here: it would count twice. Once it is gone it stays so, and whatever happens a
// settlement in Redis is the end of it.
func TestHoldStates(t *testing.T) {
	for _, from := range []holdState{unknown, doubtful, gone} {
		for _, event := range []holdEvent{told, heldThere, ended, taskEnded, settledThere} {
			to := nextState[from][event]
			switch {
			case from == gone && to != gone:
				t.Errorf("event %d brings back what is gone", event)
			case from == doubtful && to == unknown:
				t.Errorf("after event %d Redis is said not to know what it may hold", event)
			case from == doubtful && (event == ended || event == taskEnded) && to == gone:
				t.Error("what Redis may hold is settled here")
			case event == taskEnded && from == unknown && to != doubtful:
				t.Error("a task is settled here, although another replica may see its end")
			case event == told && from != gone && to != doubtful:
				t.Error("Redis was told of it, and is said not to know it")
			case (event == heldThere || event == settledThere) && to != gone:
				t.Errorf("it is kept although Redis has it: event %d", event)
			}
		}
	}
}
