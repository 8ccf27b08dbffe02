package limit

import (
	"cmp"
	"slices"
	"time"
)

// Aside is a part of a quota, or open tasks, that is set aside for a replica that is not heard from.
type Aside struct {
	Amount int64
	Back   time.Duration // until it is given back at the latest, if the replica does not come back
}

// TellAside adds to a refusal by a quota or by open tasks what is set aside of that limit for replicas that are not heard from. If the
// request does not fit beside it even when all that is held is free, it waits until enough is given back.
func (v *Verdict) TellAside(list []Aside) {
	free := v.Fault.Limit - v.Fault.Used
	if v.Reason == ReasonTasks { // those that are open may end
		free = v.Fault.Limit
	}
	slices.SortFunc(list, func(a, b Aside) int { return cmp.Compare(a.Back, b.Back) })
	for _, a := range list {
		v.Aside = Aside{v.Aside.Amount + a.Amount, a.Back}
	}
	rest := v.Aside.Amount
	for _, a := range list {
		if v.Asked+rest <= free {
			break
		}
		v.Wait, rest = max(v.Wait, a.Back), rest-a.Amount
	}
	if v.Reason == ReasonQuota { // nothing is set aside of a period that begins
		v.Wait, v.Aside.Back = min(v.Wait, v.Fault.Reset), min(v.Aside.Back, v.Fault.Reset)
	}
	v.markReset()
}

// markReset makes the limit that refuses say when the request fits.
func (v *Verdict) markReset() {
	for i := range v.Limits {
		if l := &v.Limits[i]; l.Unit == v.Fault.Unit && l.Period == v.Fault.Period && l.Tag == v.Fault.Tag {
			l.Reset = v.Wait
		}
	}
}
