package gateway

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// recentFor is the longest that a refusal is remembered.
const recentFor = time.Second

// recentRefusals remembers that a limit refused a team a moment ago and lets nothing through: a team that repeats its requests
// then costs no look at its accounts, and its bodies are not read. It answers only if the smallest request of a route (1
// request, 1 token, 1 image) could not fit either. It forgets at once when a charge of the team, which may have made room, is
// settled here, or the team's limits change.
type recentRefusals struct {
	all atomic.Pointer[perTeam[teamRefusals]]
}

// teamRefusals are one team's, by what every request of a route needs.
type teamRefusals [needs]atomic.Pointer[recentRefusal]

const (
	needsRequest = iota // every generation
	needsTokens         // text, beside a request
	needsTask           // creations, beside a request: images, and an open task
	needs
)

// recentRefusal is a refusal that is remembered.
type recentRefusal struct {
	refusal *refusal
	header  http.Header // with the team's limits
	until   time.Time   // it is used until then
	fits    time.Time   // when the refused request would pass
}

func newRecentRefusals() *recentRefusals {
	r := new(recentRefusals)
	r.forgetAll()
	return r
}

func (r *recentRefusals) forgetAll() { r.all.Store(new(perTeam[teamRefusals])) }

// forget drops the refusals of a team.
func (r *recentRefusals) forget(team string) {
	all := r.all.Load().of(team)
	for i := range all {
		if all[i].Load() != nil { // a load costs less than a store
			all[i].Store(nil)
		}
	}
}

// remember keeps a refusal, with its headers so far, if no smaller request would have passed.
func (r *recentRefusals) remember(team string, v *limit.Verdict, recent recentRefusal) {
	if need, ok := blocked(v); ok {
		recent.header = recent.header.Clone()
		ofTeam(recent.header, v)
		r.all.Load().of(team)[need].Store(&recent)
	}
}

// ofTeam has headers tell the team's own limits alone, because the next request may be for another value of its tag.
func ofTeam(h http.Header, v *limit.Verdict) {
	own := slices.IndexFunc(v.Limits, func(s limit.Standing) bool { return s.Tag != "" }) // they are the last
	if own < 0 {
		return
	}
	h.Del("Ratelimit-Policy")
	h.Del("Ratelimit")
	rateLimitHeaders(h, new(values), &limit.Verdict{Limits: v.Limits[:own]})
}

// blocked reports which routes cannot pass at all after a verdict. A smaller request than the refused one may pass, so this is
// known only if the request asked for one unit, a period is used up, or there is no room for a task.
func blocked(v *limit.Verdict) (need int, ok bool) {
	if v.Reason == limit.ReasonTasks {
		return needsTask, true
	}
	if v.Fault.Tag != "" { // another value of the tag may pass
		return 0, false
	}
	if v.Reason != limit.ReasonRate && v.Reason != limit.ReasonQuota || v.Fault.Left > 0 || v.Reason == limit.ReasonRate && v.Asked != 1 {
		return 0, false
	}
	switch v.Fault.Unit {
	case teams.UnitRequests:
		return needsRequest, true
	case teams.UnitTokens:
		return needsTokens, true
	case teams.UnitImages:
		return needsTask, true
	}
	return 0, false // a request may cost no money
}

// recall returns the refusal that holds for every request of a route, or nil.
func (r *recentRefusals) recall(team string, to *route, now time.Time) *recentRefusal {
	all := r.all.Load().of(team)
	if recent := all[needsRequest].Load(); recent.holds(now) {
		return recent
	}
	need := needsRequest
	switch {
	case to.endpoint == policy.EndpointText:
		need = needsTokens
	case to.creates:
		need = needsTask
	}
	if recent := all[need].Load(); recent.holds(now) {
		return recent
	}
	return nil
}

func (r *recentRefusal) holds(now time.Time) bool { return r != nil && now.Before(r.until) }

// again is the refusal as it is now. It sets the headers that tell the team's limits.
func (r *recentRefusal) again(h http.Header, now time.Time) error {
	for name, values := range r.header {
		h[name] = values
	}
	refused := *r.refusal
	return refused.keepHeaders().retry(r.fits.Sub(now))
}
