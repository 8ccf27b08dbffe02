package limit

import (
	"testing"
	"time"
)

// Where only open holds stand in the way, a client is told to come again in five seconds, whichever limit it is.
func TestMend16WhatOnlyHoldsRefuseWaitsFiveSeconds(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "quotas: {images: {day: 4, month: 4}, tokens: {month: 10}}", "open_tasks: 1")
		first := hold("first", team, Amounts{Requests: 1, Images: 4, Tokens: 10})
		first.Task = true
		f.admit(first)
		task := hold("task", team, Amounts{Requests: 1})
		task.Task = true
		for _, h := range []Hold{task, hold("images", team, Amounts{Images: 1}), hold("tokens", team, Amounts{Tokens: 1})} {
			if s := f.admit(h); s.outcome != refused || s.wait != 5*time.Second {
				f.Errorf("%s: outcome %d, wait %v; want a refusal for 5s", h.ID, s.outcome, s.wait)
			}
		}
	})
}
