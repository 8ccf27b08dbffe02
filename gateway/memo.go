package gateway

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// memoTime is the longest that a refusal is remembered.
const memoTime = time.Second

// memos remembers, for each team, that it was refused a moment ago by a limit that lets nothing through: a team that
// keeps knocking then costs no look at its accounts, and no reading of its bodies. It answers only where the smallest
// request of a route (1 request, 1 token, 1 image) could not fit either, and forgets at once when something of the team
// is settled here, which may have made room, or its limits change.
type memos struct{ teams atomic.Pointer[sync.Map] } // team id → *memo

// memo is one team's, by what a route takes for certain.
type memo [memoRoutes]atomic.Pointer[remembered]

const (
	memoAny    = iota // every generation takes a request
	memoText          // and tokens
	memoCreate        // and images, and an open task
	memoRoutes
)

// remembered is a refusal and when it ends.
type remembered struct {
	refusal *refusal
	header  http.Header // the team's limits as they were told
	until   time.Time   // it is not used any more
	fits    time.Time   // the request that was refused would pass
}

func (m *memos) forgetAll() { m.teams.Store(new(sync.Map)) }

func (m *memos) of(team string) *memo {
	all := m.teams.Load()
	if v, ok := all.Load(team); ok {
		return v.(*memo)
	}
	v, _ := all.LoadOrStore(team, new(memo))
	return v.(*memo)
}

// forget drops what is remembered of a team.
func (m *memos) forget(team string) {
	all := m.of(team)
	for i := range all {
		if all[i].Load() != nil { // a look costs less
			all[i].Store(nil)
		}
	}
}

// remember keeps a refusal where nothing smaller would have passed.
func (m *memos) remember(v *limit.Verdict, refused *refusal, c *call, header http.Header, now time.Time) {
	route, ok := blocked(v)
	if !ok {
		return
	}
	until := now.Add(min(v.Wait, memoTime))
	m.of(c.Team)[route].Store(&remembered{refusal: refused, header: header.Clone(), until: until, fits: now.Add(v.Wait)})
}

// blocked tells which routes a refusal closes altogether. What waits for less than was asked may pass sooner than the
// verdict says, so only a request of one unit, a period that is used up, and open tasks count.
func blocked(v *limit.Verdict) (route int, ok bool) {
	if v.Reason == limit.ReasonTasks {
		return memoCreate, true
	}
	if v.Reason != limit.ReasonRate && v.Reason != limit.ReasonQuota || v.Fault.Left > 0 || v.Reason == limit.ReasonRate && v.Asked != 1 {
		return 0, false
	}
	switch v.Fault.Unit {
	case teams.UnitRequests:
		return memoAny, true
	case teams.UnitTokens:
		return memoText, true
	case teams.UnitImages:
		return memoCreate, true
	}
	return 0, false // a request may cost no money
}

// recall returns the refusal that still stands for a route, or nil.
func (m *memos) recall(c *call, now time.Time) *remembered {
	all := m.of(c.Team)
	if r := all[memoAny].Load(); r.stands(now) {
		return r
	}
	route := memoAny
	switch {
	case c.route.endpoint == policy.EndpointText:
		route = memoText
	case c.route.creates:
		route = memoCreate
	}
	if r := all[route].Load(); r.stands(now) {
		return r
	}
	return nil
}

func (r *remembered) stands(now time.Time) bool { return r != nil && now.Before(r.until) }

// again is the refusal as it is now.
func (r *remembered) again(w *reply, now time.Time) error {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	refused := *r.refusal
	return refused.keepHeaders().retry(r.fits.Sub(now))
}
