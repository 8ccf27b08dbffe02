package failover

import (
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// What /readyz says of allowances is so: one whose lease has ended, that is of another day, or of which nothing is left is none.
func TestTheStateSaysWhetherAnythingMayBeSpent(t *testing.T) {
	for name, tt := range map[string]struct {
		bridge time.Duration
		then   func(s *harness, team *teams.Team)
		spends bool
	}{
		"in force":          {0, func(*harness, *teams.Team) {}, true},
		"all spent":         {0, func(s *harness, team *teams.Team) { s.must("all", team, limit.Amounts{limit.Images: 19}) }, false},
		"its lease ended":   {0, func(s *harness, _ *teams.Team) { s.clock.Move(bridgeDefault) }, false},
		"of the next day":   {13 * time.Hour, func(s *harness, team *teams.Team) { s.must("all", team, limit.Amounts{limit.Images: 19}) }, false},
		"the next day's":    {13 * time.Hour, func(s *harness, _ *teams.Team) { s.clock.Move(12 * time.Hour) }, true},
		"after its own day": {13 * time.Hour, func(s *harness, _ *teams.Team) { s.clock.Move(36 * time.Hour) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHarness(t, limittest.FakeRedis(t), func(c *Config) { c.Bridge = tt.bridge })
			team := limittest.Team(t, "quotas: {images: {day: 1000}}")
			s.must("seen", team, limit.Amounts{limit.Images: 1})
			s.clock.Move(renewEvery)
			s.back()
			s.fault.mode.Store(away)
			_ = s.Maintain(s.Context())
			if tt.then(s, team); strings.Contains(s.State().Error(), "teams spend") != tt.spends {
				t.Error(s.State())
			}
		})
	}
}
