package limit

import (
	"context"
	"time"

	"sluice/policy/teams"
)

// Report is how a team stands to all of its limits at one moment.
type Report struct {
	At     time.Time  // by the clock of the accounts
	Limits []Standing // its rates, then its quotas
	Tasks  int64      // open tasks
}

func (s *state) report(t *terms) Report {
	r := Report{At: s.at, Tasks: s.tasks}
	for number := range rateCount + quotaCount {
		if !t.has(number) {
			continue
		}
		standing := s.standing(t, number)
		if number < limitQuotas {
			standing.Used = max(t.rates[number].Burst-s.rates[number].left, 0)
		}
		r.Limits = append(r.Limits, standing)
	}
	return r
}

// Look reports how a team stands, and takes nothing.
func (m *Memory) Look(_ context.Context, team *teams.Team) (Report, error) {
	t := termsOf(team)
	s, err := m.admit(&Hold{Team: team}, &t)
	return s.report(&t), err
}
