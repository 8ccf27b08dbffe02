package failover

import (
	"fmt"
	"testing"

	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// A charge that waits for Redis brings its event, once, whatever was lost and whether Redis knew its hold; charges without one are
// still added up.
func TestAnEventWaitsWithItsCharge(t *testing.T) {
	for _, task := range []bool{true, false} {
		s := newHarness(t, limittest.RealRedis(t), nil)
		s.Store.Events = outbox.New(s.client, event.DefaultBounds)
		s.Store.Events.Clock = s.Store.Clock
		team := limittest.Team(s)
		one := limit.Amounts{limit.Requests: 1, limit.Images: 1}
		used, want := int64(0), 0
		end := func(h *limit.Held, told bool) {
			h.Task = task
			c := &limit.Charge{Held: h, Team: team, Amounts: one}
			if used++; told {
				want++
				c.Event = &event.Draft{Type: event.TaskSucceeded, Team: "search", Data: fmt.Appendf(nil, "%q", h.ID)}
			}
			_, _ = s.Settle(s.Context(), c)
			if again := *c; c.ByID() { // as if another had seen its end, too
				s.SettleLater(&again)
			}
		}
		end(s.must("well", team, one), true)
		for mode, about := range map[int32]string{away: "away", deaf: "the reply is lost", silent: "the question is lost"} {
			h := s.must("before, "+about, team, one)
			s.fault.mode.Store(mode)
			end(h, true)
			for n := range 3 {
				end(s.must(fmt.Sprint("meanwhile ", n, about), team, one), n > 0)
			}
			s.settled()
			s.back()
		}
		s.settled()
		list, _, err := s.Store.Events.After(t.Context(), event.ID{Owner: "search"}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, e := range list {
			if seen[string(e.Data)] {
				t.Errorf("%s was told twice", e.Data)
			}
			seen[string(e.Data)] = true
		}
		if len(list) != want {
			t.Errorf("%d events of %d: %v", len(list), want, seen)
		}
		report, err := s.Look(t.Context(), limittest.Team(s, "quotas: {images: {day: 1000}}"))
		if err != nil || report.Limits[0].Used != used {
			t.Errorf("%+v was used, not %d: %v", report.Limits, used, err)
		}
	}
}
