package limit

import (
	"time"

	"sluice/policy/teams"
)

// RefuseOutside turns an admission into a refusal by a rate outside of the team.
func (v *Verdict) RefuseOutside(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	refused := refusedOutside(rate, wait, h)
	refused.Limits = h.givenBack(v.Limits)
	return refused
}

// RefusedOutside reports whether a rate outside of the team refuses.
func (v *Verdict) RefusedOutside() bool { return v.Reason == ReasonAccount && v.Fault.Period == "" }

// OrOutside returns v, or the refusal by a rate outside of the team if its wait is longer than v's, or as long as that of a quota of
// the house.
func (v *Verdict) OrOutside(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	if wait == 0 || wait < v.Wait || wait == v.Wait && v.Fault.Scope != ScopeHouse {
		return *v
	}
	refused := refusedOutside(rate, wait, h)
	hidden := *v
	refused.Limits, refused.Hidden = v.Limits, &hidden
	return refused
}

func refusedOutside(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	fault := Standing{Unit: rate.Unit, Per: rate.PerText, Limit: rate.Limit, Window: rate.Per, Reset: wait, Scope: ScopeAccount, Of: h.Account}
	return Verdict{Reason: ReasonAccount, Fault: fault, Wait: wait, Asked: h.asked(&fault)}
}
