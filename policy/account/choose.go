package account

import (
	"cmp"
	"slices"
	"time"

	"sluice/policy/teams"
)

// Want is the work for which an account is chosen, and what the request has learned of accounts so far.
type Want struct {
	Model    string
	Unpriced bool // the model has no price, so that a quota of spend could not count the work
	Team     string
	Regions  []string                 // those that the team allows; nil: any
	Tried    []string                 // the ids of accounts that have answered the request, or can never take it
	Spent    map[string]time.Duration // by account id, when a rate or quota of its own that has no room will have some
}

// Refusal is why no account is chosen.
type Refusal string

// The refusals.
const (
	Unserved  Refusal = "unserved"  // no account that takes new work serves the model and the team in its regions
	NoPrice   Refusal = "no price"  // each account that does so has a quota of spend, and the model has no price
	Exhausted Refusal = "exhausted" // each account that does so has answered the request: the client gets the last answer
	Busy      Refusal = "busy"      // each remaining account is cooling, has no room, or is out: waiting may help
	AllOut    Refusal = "out"       // each remaining account is out: waiting may not help
)

// Choice is the account that does a piece of work, or the reason why none does.
type Choice struct {
	Account *teams.Account // nil: none
	Probe   bool           // the request tests whether the account works again: see [Health.Begin]
	Refusal Refusal        // empty: an account is chosen
	Wait    time.Duration  // until the first of the accounts may get the request; 0 unless Refusal is Busy or AllOut
}

// Choose picks the account: of those that serve the model and the team, have weight and room, and are neither out nor
// cooling, the one with the fewest requests in flight ÷ weight. Among equal ones luck, in [0,1), picks one by weight.
//
// An account that may be probed comes first; otherwise an account that the others make dispensable would never come
// back. The request loses only the time of an answer, because answers that keep an account out or cooling allow it to
// try another account.
func Choose(views []View, want Want, luck float64) Choice {
	var some [8]*View // on the stack
	best := some[:0]
	for i := range views {
		v := &views[i]
		if !want.servedBy(v.Account, views) || want.hasTried(v) || want.wait(v) > 0 {
			continue
		}
		switch order := compare(v, best); {
		case order < 0:
			best = append(best[:0], v)
		case order == 0:
			best = append(best, v)
		}
	}
	if len(best) == 0 {
		return want.refused(views)
	}
	v := byWeight(best, luck)
	return Choice{Account: v.Account, Probe: v.Probe}
}

// Serving lists the accounts that may do a piece of work, whatever their state, in the order of the views.
func Serving(views []View, want Want) (list []*teams.Account) {
	for i := range views {
		if want.servedBy(views[i].Account, views) {
			list = append(list, views[i].Account)
		}
	}
	return list
}

// Away is an account that may do a piece of work, but must not get requests now.
type Away struct {
	ID   string
	Wait time.Duration // until it may get them
	Out  bool          // it is out, so waiting may not help; else it is cooling
}

// AllAway lists the accounts that may do a piece of work, must not get requests now, and have not answered this one.
func AllAway(views []View, want Want) (list []Away) {
	for i := range views {
		if v := &views[i]; v.Wait > 0 && want.servedBy(v.Account, views) && !want.hasTried(v) {
			list = append(list, Away{v.Account.ID, v.Wait, v.Out})
		}
	}
	return list
}

// compare is below 0 if v comes before the best so far, and 0 if it is as good.
func compare(v *View, best []*View) int {
	if len(best) == 0 {
		return -1
	}
	b := best[0]
	if v.Probe != b.Probe {
		if v.Probe {
			return -1
		}
		return 1
	}
	return cmp.Compare(int64(v.InFlight)*int64(b.Account.Weight), int64(b.InFlight)*int64(v.Account.Weight))
}

// byWeight picks one of the views, with a probability in proportion to its weight.
func byWeight(views []*View, luck float64) *View {
	sum := 0
	for _, v := range views {
		sum += v.Account.Weight
	}
	mark := int(luck * float64(sum))
	for _, v := range views {
		if mark -= v.Account.Weight; mark < 0 {
			return v
		}
	}
	return views[len(views)-1]
}

// refused is the choice if no account may get the request. An account that is out may fail its next probe, so its wait
// is named only if no other account has room within probeEvery.
func (w Want) refused(views []View) Choice {
	c := Choice{Refusal: Unserved}
	if priced := w; w.Unpriced {
		if priced.Unpriced = false; len(Serving(views, priced)) > 0 {
			c.Refusal = NoPrice
		}
	}
	var busy, out time.Duration // the shortest waits; 0: none
	for i := range views {
		v := &views[i]
		switch {
		case !w.servedBy(v.Account, views):
			continue
		case w.hasTried(v):
		case v.Out:
			out = shorter(out, w.wait(v))
		default:
			busy = shorter(busy, w.wait(v))
		}
		c.Refusal = Exhausted
	}
	switch {
	case busy > probeEvery && out > 0:
		c.Refusal, c.Wait = Busy, min(busy, out)
	case busy > 0:
		c.Refusal, c.Wait = Busy, busy
	case out > 0:
		c.Refusal, c.Wait = AllOut, out
	}
	return c
}

// shorter is the shorter of two waits, of which a may be 0: no wait is known.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// servedBy reports whether the account takes new work of this kind.
func (w Want) servedBy(a *teams.Account, all []View) bool {
	return a.Weight > 0 && a.ServesModel(w.Model) && a.InRegion(w.Regions) && w.teamServedBy(a, all) && !(w.Unpriced && spends(a))
}

// spends reports whether the account has a quota of spend.
func spends(a *teams.Account) bool { return a.Quotas != nil && a.Quotas.Spends() }

// teamServedBy reports whether the account serves the team: it names the team, or no account does.
func (w Want) teamServedBy(a *teams.Account, all []View) bool {
	if a.Teams != nil {
		return slices.Contains(a.Teams, w.Team)
	}
	return !slices.ContainsFunc(all, func(v View) bool { return slices.Contains(v.Account.Teams, w.Team) })
}

func (w Want) hasTried(v *View) bool { return slices.Contains(w.Tried, v.Account.ID) }

// wait is how long the account must not get the request; 0: it may.
func (w Want) wait(v *View) time.Duration { return max(v.Wait, w.Spent[v.Account.ID]) }
