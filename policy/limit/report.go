package limit

import (
	"context"
	"slices"
	"time"

	"sluice/policy/teams"
)

// Report is how a team stands to all of its limits at one moment.
type Report struct {
	At     time.Time  // by the clock of the accounts
	Limits []Standing // its rates, then its quotas
	Tasks  int64      // open tasks
}

// Report describes all of a team's limits.
func (s *State) Report(t *Terms) Report {
	r := Report{At: s.At, Tasks: s.Tasks}
	for number := range RateCount + QuotaCount {
		if !t.has(number) {
			continue
		}
		standing := s.standing(t, number)
		if number < LimitQuotas {
			standing.Used = max(t.Rates[number].Burst-s.Rates[number].Left, 0)
		}
		r.Limits = append(r.Limits, standing)
	}
	return r
}

// Quotas is the report without the rates.
func (r Report) Quotas() Report {
	r.Limits = slices.DeleteFunc(r.Limits, func(s Standing) bool { return s.Period == "" })
	return r
}

// LastKnown reports how much of its quotas a team has used.
func (m *Memory) LastKnown(team *teams.Team) Report {
	r, _ := m.Look(context.Background(), team) // it never fails
	return r.Quotas()
}

// Look reports how much of each limit a team has used. It takes nothing.
func (m *Memory) Look(_ context.Context, team *teams.Team) (Report, error) {
	t := TermsOf(team)
	s, err := m.Place(&Hold{Team: team}, &t)
	return s.Report(&t), err
}
