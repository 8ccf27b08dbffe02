package limit

import "sluice/policy/teams"

// NeverFits is the refusal of what can never fit. It needs no look at the accounts.
func (h *Hold) NeverFits(t *Terms) (Verdict, bool) {
	fault, never := h.never(t)
	if !never {
		return Verdict{}, false
	}
	return Verdict{Reason: ReasonNever, Fault: fault, Asked: h.asked(&fault)}, true
}

// never reports whether an exact cost can never fit, however long the client waits: more images than a bucket holds or
// a quota allows, or, for images, more money. Tokens are estimates, and an estimate is never too large.
func (h *Hold) never(t *Terms) (fault Standing, ok bool) {
	for _, a := range h.Account {
		for _, r := range a.Rates {
			if r.Unit == teams.UnitImages && h.Amounts[Images] > r.Burst {
				return Standing{Unit: r.Unit, Per: r.PerText, Limit: r.Burst, Window: r.Per}, true
			}
		}
	}
	if h.Amounts[Images] == 0 || t.Shadow {
		return Standing{}, false
	}
	if r := t.Rates[Images]; r.Limit > 0 && h.Amounts[Images] > r.Burst {
		return Standing{Unit: r.Unit, Per: r.PerText, Limit: r.Burst, Window: r.Per}, true
	}
	if fault, never := h.neverOf(&t.Quotas); never {
		return fault, true
	}
	if t.ByTag {
		if fault, never := h.neverOf(&t.TagQuotas); never {
			return fault.by(h.AsTag()), true
		}
	}
	return Standing{}, false
}

// neverOf is never for quotas.
func (h *Hold) neverOf(quotas *[QuotaCount]int64) (fault Standing, ok bool) {
	for q, limit := range quotas {
		if unit := q / 2; (unit == Images || unit == Spend) && limit != None && h.Amounts[unit] > limit {
			period := teams.Periods[q%2]
			return Standing{Unit: teams.Units[unit], Period: period, Per: string(period), Limit: limit}, true
		}
	}
	return Standing{}, false
}
