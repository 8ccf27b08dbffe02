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
	Tried    []string                 // the accounts, by id, that have answered the request already, or can never take it
	Spent    map[string]time.Duration // the accounts, by id, whose own rate or quota has no room, and when it has
}

// Refusal is why no account is chosen.
type Refusal string

// The refusals.
const (
	Unserved  Refusal = "unserved"  // no account that takes new work serves the model and the team in its regions
	NoPrice   Refusal = "no price"  // each that does so has a quota of spend, and the model has no price
	Exhausted Refusal = "exhausted" // each that serves has answered the request: the last answer is the client's
	Busy      Refusal = "busy"      // each that is left is cooling or has no room, or is out: worth a wait
	AllOut    Refusal = "out"       // each that is left is out: time alone does not help
)

// Choice is the account that does a piece of work, or why there is none.
type Choice struct {
	Account *teams.Account // nil: none
	Probe   bool           // the request asks whether the account works again: see [Health.Begin]
	Refusal Refusal        // empty: an account is chosen
	Wait    time.Duration  // the shortest after which an account may be asked; 0 unless Refusal is Busy or AllOut
}

// Choose picks the account: of those that serve the model and the team, have weight and room, and are neither out nor cooling, the one
// with the least requests in flight ÷ weight. Of equal ones luck, in [0,1), picks one by weight.
//
// An account that may be probed comes before the others. Otherwise one that the others can do without would never come back. The request
// loses only the time of an answer, because the answers that keep an account out or cooling leave it free to try another.
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

// Away is an account that may do a piece of work, but must not be asked now.
type Away struct {
	ID   string
	Wait time.Duration // until it may be
	Out  bool          // it is out, so that time alone may not help; else it is cooling
}

// AllAway lists the accounts that may do a piece of work, must not be asked now, and have not answered the request.
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

// byWeight picks one of the views, each as often as its weight says.
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

// refused is the choice if no account may be asked. The next probe of an account that is out may fail, so its time is named only if no
// other account has room within probeEvery.
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

// shorter is the shorter of two waits, of which the first may be none.
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

// teamServedBy reports whether the account serves the team: it names it, or no account does.
func (w Want) teamServedBy(a *teams.Account, all []View) bool {
	if a.Teams != nil {
		return slices.Contains(a.Teams, w.Team)
	}
	return !slices.ContainsFunc(all, func(v View) bool { return slices.Contains(v.Account.Teams, w.Team) })
}

func (w Want) hasTried(v *View) bool { return slices.Contains(w.Tried, v.Account.ID) }

// wait is how long the account must not be asked; 0: it may be.
func (w Want) wait(v *View) time.Duration { return max(v.Wait, w.Spent[v.Account.ID]) }
