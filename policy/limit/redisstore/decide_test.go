package redisstore

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// If only open holds stand in the way, the client is told to retry in five seconds, whichever limit it is.
func TestWhatOnlyHoldsRefuseWaitsFiveSeconds(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "quotas: {images: {day: 4, month: 4}, tokens: {month: 10}}", "open_tasks: 1")
		first := hold("first", team, limit.Amounts{limit.Requests: 1, limit.Images: 4, limit.Tokens: 10})
		first.Task = true
		f.admit(first)
		task := hold("task", team, limit.Amounts{limit.Requests: 1})
		task.Task = true
		for _, h := range []limit.Hold{task, hold("images", team, limit.Amounts{limit.Images: 1}),
			hold("tokens", team, limit.Amounts{limit.Tokens: 1})} {
			if s := f.admit(h); s.Outcome != limit.Refused || s.Wait != 5*time.Second {
				f.Errorf("%s: outcome %d, wait %v; want a refusal for 5s", h.ID, s.Outcome, s.Wait)
			}
		}
	})
}
