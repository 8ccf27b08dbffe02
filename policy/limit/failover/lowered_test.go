package failover

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// A limit that is lowered while Redis is away, as when a raise ends, counts at once: by what was known to be used, and what was admitted
// here since. While a limit stays as it is, the allowance alone decides.
func TestALimitLoweredWithoutRedis(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		want          int // admitted after the change, of 10; 100 are held and 1 was admitted without Redis
		reason        limit.Reason
	}{
		"below what is used": {"quotas: {images: {day: 1000}}", "quotas: {images: {day: 10}}", 0, limit.ReasonQuota},
		"above what is used": {"quotas: {images: {day: 1000}}", "quotas: {images: {day: 105}}", 4, limit.ReasonQuota},
		"of the month":       {"quotas: {images: {day: 1000, month: 2000}}", "quotas: {images: {day: 1000, month: 103}}", 2, limit.ReasonQuota},
		"a new one":          {"quotas: {images: {day: 1000}}", "quotas: {images: {day: 1000, month: 103}}", 2, limit.ReasonQuota},
		"of one unit of two": {"quotas: {images: {day: 1000}, requests: {day: 900}}",
			"quotas: {images: {day: 1000}, requests: {day: 104}}", 3, limit.ReasonQuota},
		"not lowered":          {"quotas: {images: {day: 1000}}", "quotas: {images: {day: 1000}}", 10, ""},
		"raised":               {"quotas: {images: {day: 1000}}", "quotas: {images: {day: 2000}}", 10, ""},
		"removed":              {"quotas: {images: {day: 1000}}", "disabled: false", 10, ""},
		"open tasks":           {"open_tasks: 1000", "open_tasks: 103", 2, limit.ReasonTasks},
		"open tasks, all used": {"open_tasks: 1000", "open_tasks: 7", 0, limit.ReasonTasks},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHarness(t, limittest.FakeRedis(t), nil)
			before, after, n := limittest.Team(t, tt.before), limittest.Team(t, tt.after), 0
			ask := func(team *teams.Team) (limit.Verdict, error) {
				n++
				h := hold(id(n), team, limit.Amounts{limit.Requests: 1, limit.Images: 1})
				h.Task, h.Lease = true, time.Hour
				return s.Failover.Admit(s.Context(), &h)
			}
			for range 100 {
				_, _ = ask(before)
			}
			s.clock.Move(renewEvery)
			s.back()
			s.fault.mode.Store(away)
			if v, err := ask(before); err != nil || v.Held == nil {
				t.Fatalf("nothing is set aside: %+v, %v", v, err)
			}
			admitted := 0
			for range 10 {
				switch v, err := ask(after); {
				case err == nil && v.Held != nil:
					admitted++
				case err != nil || v.Reason != tt.reason:
					t.Errorf("%d were admitted: %+v, %v", admitted, v, err)
				}
			}
			if admitted != tt.want {
				t.Errorf("%d were admitted, want %d", admitted, tt.want)
			}
		})
	}
}
