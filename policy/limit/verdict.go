package limit

import (
	"time"

	"sluice/policy/teams"
)

// Reason is why a request is refused: the second word of its row in the table of refusals.
type Reason string

// The reasons.
const (
	ReasonNone    Reason = ""
	ReasonNever   Reason = "never"      // an exact cost that no limit will ever let pass
	ReasonRate    Reason = "rate"       // a token bucket
	ReasonQuota   Reason = "quota"      // a calendar quota
	ReasonTasks   Reason = "open_tasks" // as many tasks as may be open
	ReasonAccount Reason = "account"    // a limit of the upstream account
	ReasonState   Reason = "state"      // nobody knows what the team has left
)

// Verdict is the answer to a hold.
type Verdict struct {
	Held   *Held         // nil when the request is refused; it must not be changed
	Reason Reason        // why it is refused, or why a team in shadow mode would be
	Fault  Standing      // the limit behind the reason; zero for never and state
	Wait   time.Duration // until this request fits; never too short
	Asked  int64         // what the request asked of that limit
	owed   *Charge       // gives back what is held all the same; nil: nothing is
	Limits []Standing    // every limit that the request is charged in; nil: none
}

// Standing is how a team stands to one limit.
type Standing struct {
	Unit   teams.Unit
	Period teams.Period // empty for a rate
	Per    string       // a rate's per as the file writes it, or the period
	Limit  int64
	Window time.Duration // a rate's per, or the length of the period
	Used   int64         // of a quota; 0 for a rate
	Held   int64         // of a quota; 0 for a rate
	Left   int64         // after this hold, at least 0
	Reset  time.Duration // until a bucket is full, or a period ends
}

// Name is how headers and messages name the limit: the unit, and for a quota the period, "images-day".
func (s *Standing) Name() string {
	if s.Period == "" {
		return string(s.Unit)
	}
	return string(s.Unit) + "-" + string(s.Period)
}

// standing describes one limit by number, which has to be set.
func (s *state) standing(t *terms, number int) Standing {
	if number < limitQuotas {
		r := t.rates[number]
		f := s.rates[number]
		return Standing{
			Unit: r.Unit, Per: r.PerText, Limit: r.Limit, Window: r.Per, Left: max(f.left, 0), Reset: f.full,
		}
	}
	q := number - limitQuotas
	unit, period := teams.Units[q/2], teams.Periods[q%2]
	limit := t.quotas[q]
	return Standing{
		Unit: unit, Period: period, Per: string(period), Limit: limit, Window: s.date.length[q%2],
		Used: s.used[q], Held: s.held[q], Left: max(limit-s.used[q]-s.held[q], 0), Reset: s.date.end[q%2].Sub(s.at),
	}
}

// verdict says what a decision means for a request.
func (s *state) verdict(t *terms, h *Hold) (v Verdict) {
	for number := range rateCount + quotaCount {
		if h.Amounts[unitOf(number)] == 0 || !t.has(number) {
			continue
		}
		if v.Limits == nil {
			v.Limits = make([]Standing, 0, 4)
		}
		v.Limits = append(v.Limits, s.standing(t, number))
	}
	if s.fault != limitNone {
		v.blame(s, t, h)
	}
	if s.outcome != refused {
		if v.Held = s.placed; v.Held == nil {
			v.Held = heldOf(h, s.date, s.takes(t))
		}
	}
	return v
}

func (v *Verdict) blame(s *state, t *terms, h *Hold) {
	v.Wait = s.wait
	switch {
	case s.fault == limitTasks:
		v.Reason, v.Asked = ReasonTasks, 1
		v.Fault = Standing{Limit: t.tasks, Used: s.tasks}
		return
	case s.fault < limitQuotas:
		v.Reason = ReasonRate
	default:
		v.Reason = ReasonQuota
	}
	v.Fault = s.standing(t, s.fault)
	v.Asked = h.Amounts[unitOf(s.fault)]
	for i := range v.Limits {
		if l := &v.Limits[i]; l.Unit == v.Fault.Unit && l.Period == v.Fault.Period {
			l.Reset = v.Wait
		}
	}
}

// unitOf is the unit of a numbered rate or quota.
func unitOf(number int) int {
	if number < limitQuotas {
		return number
	}
	return (number - limitQuotas) / 2
}
