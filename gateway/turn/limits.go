package turn

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// slots is the unit of requests in flight.
const slots unit.Name = "slots"

// TeamSlots is the resource of a team's requests in flight.
func TeamSlots(team string) Resource { return Resource{limit.ScopeTeam, team, slots} }

// KeySlots is the resource of a key's requests in flight.
func KeySlots(key string) Resource { return Resource{limit.ScopeKey, key, slots} }

// Account is the readiness of an account at the service to serve a model: it is not ready while it is cooling.
func Account(id, model string) Resource {
	return Resource{Scope: limit.ScopeAccount, Name: id + " " + model}
}

// IsSlots reports whether the resource is requests in flight.
func (r Resource) IsSlots() bool { return r.Unit == slots }

// RequestOf returns the request for a hold; key has the limits of the hold's key. In shadow mode the limits of team and key refuse nothing.
// [Request.Serve] adds the accounts.
func RequestOf(h *limit.Hold, key *teams.KeyLimits, wait time.Duration) *Request {
	r := &Request{Team: h.Team.ID, Share: h.Team.Weight(), Wait: wait, Depth: h.Team.Queue.Most()}
	if h.Team.Shadow {
		return r
	}
	if key.Concurrent > 0 {
		r.Needs = append(r.Needs, Need{KeySlots(h.Key), 1})
	}
	if h.Team.Concurrent > 0 {
		r.Needs = append(r.Needs, Need{TeamSlots(h.Team.ID), 1})
	}
	terms := limit.TermsFor(h.Team, h.Key)
	r.Needs = needRates(r.Needs, terms.Of(limit.ScopeKey), h.Key, &h.Amounts)
	r.Needs = needRates(r.Needs, terms.Of(limit.ScopeTeam), h.Team.ID, &h.Amounts)
	return r
}

// Serve adds an account by which the request may pass; h is its hold there.
func (r *Request) Serve(id string, h *limit.Hold) {
	way, rated := Way{ID: id}, h.Rated()
	for i := range rated {
		way.Needs = needRates(way.Needs, &rated[i], rated[i].Name, &h.Amounts)
	}
	way.Needs = append(way.Needs, Need{Account(id, h.Model), 1})
	r.Ways = append(r.Ways, way)
}

// needRates adds what a hold takes from the rates of a scope.
func needRates(needs []Need, s *limit.Scope, name string, amounts *limit.Amounts) []Need {
	for u, n := range s.Takes(amounts) {
		if n > 0 {
			needs = append(needs, Need{Resource{s.Kind, name, unit.Names[u]}, float64(n)})
		}
	}
	return needs
}

// RefusalOf returns the refusal in a verdict about a hold; nil: waiting does not help.
func RefusalOf(v *limit.Verdict, h *limit.Hold) *Refusal {
	if v.Wait <= 0 || v.Fault.Period != "" { // a quota
		return nil
	}
	r := &Refusal{Resource: Resource{v.Fault.Scope, h.Team.ID, v.Fault.Unit}, Wait: v.Wait}
	switch {
	case v.Reason == limit.ReasonAccount:
		r.Resource = accountOf(v, h)
	case v.Reason != limit.ReasonRate:
		return nil
	case v.Fault.Scope == limit.ScopeKey:
		r.Name = h.Key
	}
	if seconds := v.Fault.Window.Seconds(); seconds > 0 {
		r.Rate = float64(v.Fault.Limit) / seconds
	}
	return r
}

// RefusalBy returns the refusal of one account. It is closed if waiting does not help this request; others may still pass by the account.
func RefusalBy(v *limit.Verdict, h *limit.Hold, account string) Refusal {
	r := RefusalOf(v, h)
	if r == nil {
		r = &Refusal{Resource: Account(account, h.Model), Wait: v.Wait, Closed: true}
	}
	r.Way = account
	return *r
}

// accountOf finds the rate of the service's account that refused, by its limit: replicas divide the rate, but not the limit.
func accountOf(v *limit.Verdict, h *limit.Hold) Resource {
	rated, u := h.Rated(), unit.Index(v.Fault.Unit)
	for i := range rated {
		if u >= 0 && rated[i].Rates[u].Limit == v.Fault.Limit && rated[i].Rates[u].PerText == v.Fault.Per {
			return Resource{limit.ScopeAccount, rated[i].Name, v.Fault.Unit}
		}
	}
	return Account(limit.AccountName(h.Account), h.Model)
}

// Explain says why a request was refused with [ErrFull] or [ErrLate], without a try.
func (o *Outcome) Explain(err error, r *Request) string {
	if err == ErrFull {
		return fmt.Sprintf("Team %s has %d waiting %s, as many as it may have. This one would wait for %s, about %s.", r.Team, r.Depth,
			unit.Noun(int64(r.Depth), "requests"), o.Resource, limit.WaitText(o.Wait))
	}
	may, fits := "Send it with Prefer: wait=N to wait for its turn.", "fit"
	if r.Wait > 0 {
		may = "It may wait " + r.Wait.String() + "."
	}
	if o.cools() {
		fits = "be tried"
	}
	others := "1 request waits"
	if o.Ahead != 1 {
		others = fmt.Sprintf("%d requests wait", o.Ahead)
	}
	return fmt.Sprintf("%s for %s before this one, which would %s in about %s. %s", others, o.Resource, fits, limit.WaitText(o.Wait), may)
}

// cools reports whether the resource is an account that the service told to wait.
func (r Resource) cools() bool { return r.Scope == limit.ScopeAccount && r.Unit == "" }

// String describes the resource inside a sentence. It names no account.
func (r Resource) String() string {
	whose := "team " + r.Name
	switch {
	case r.cools():
		_, model, _ := strings.Cut(r.Name, " ")
		if model == "" {
			return "the service's account, which the service told to wait"
		}
		return "the service's account, which the service told to wait with model " + policy.Brief(model)
	case r.Scope == limit.ScopeKey:
		whose = "key " + r.Name
	case r.Scope == limit.ScopeAccount:
		whose = "the service's account"
	}
	if r.IsSlots() {
		return "a place among the requests in flight of " + whose
	}
	return fmt.Sprintf("the rate of %s of %s", cmp.Or(r.Unit, unit.NameRequests), whose)
}
