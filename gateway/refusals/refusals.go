package gateway

import (
	"sync/atomic"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// recentFor is the longest that a refusal is remembered.
const recentFor = time.Second

// recentRefusals remembers that a limit refused a team a moment ago and lets nothing through: a team that repeats its requests
// then costs no look at its accounts, and the bodies of its texts are not read. It answers only if the smallest request could not fit
// either, and says only what holds for every such request. One for pictures may be too large to fit ever: it is refused only if it is
// like the one that was. It forgets immediately when a charge of the team, which may have made room, is settled here, or the team's
// limits change.
type recentRefusals struct {
	all atomic.Pointer[allRefusals]
}

// allRefusals are those of each team, and those by the house, which hold for every team.
type allRefusals struct {
	limit.PerTeam[teamRefusals]
	house teamRefusals
}

// teamRefusals are one team's refusals, by what requests need.
type teamRefusals [needs]atomic.Pointer[recentRefusal]

const (
	needsRequest  = iota // every request
	needsTokens          // text, beside a request
	needsPictures        // pictures, as many of the same model
	needs
)

// recentRefusal is a refusal that is remembered.
type recentRefusal struct {
	verdict limit.Verdict // with what it says of every request that it refuses
	of      likeness      // of the requests for pictures that it refuses
	at      time.Time
	charged *recentRefusal // of pictures: the house's mark, which any team's charge drops
}

// likeness is what requests for pictures have in common that get the same verdict.
type likeness struct {
	key, tag, model string
	creates         bool // a task, which takes one of the open tasks
	size            limit.Amounts
}

func likenessOf(s *requestState) likeness {
	return likeness{s.holder, s.tag, s.Model, s.creates, s.size}
}

// pictures reports whether requests of the route may be for pictures.
func (r *route) pictures() bool {
	return r.creates || r.repeats || r.endpoint == policy.EndpointMultimodal
}

func newRecentRefusals() *recentRefusals {
	r := new(recentRefusals)
	r.forgetAll()
	return r
}

func (r *recentRefusals) forgetAll() { r.all.Store(new(allRefusals)) }

// forget drops the refusals of a team, and those by the house: a charge makes room in both.
func (r *recentRefusals) forget(team string) {
	all := r.all.Load()
	all.Get(team).forget()
	all.house.forget()
}

func (all *teamRefusals) forget() {
	for i := range all {
		if all[i].Load() != nil { // a load costs less than a store
			all[i].Store(nil)
		}
	}
}

// remember keeps a refusal, if no smaller request would have passed.
func (r *recentRefusals) remember(s *requestState, v *limit.Verdict, now time.Time) {
	all := r.all.Load()
	own, need := all.Get(s.Team), needsTokens
	if v.Closes() && s.size[limit.Images] > 0 {
		charged := &all.house[needsPictures]
		charged.CompareAndSwap(nil, new(recentRefusal))
		own[needsPictures].Store(&recentRefusal{*v, likenessOf(s), now, charged.Load()})
	}
	if v.Reason == limit.ReasonHouse {
		own = &all.house
	}
	if v.Fault.Unit == teams.UnitRequests {
		need = needsRequest
	}
	if least, ok := v.Least(); ok {
		own[need].Store(&recentRefusal{verdict: least, at: now})
	}
}

// recall returns the refusal that holds for a request, or nil. Of one that may be for pictures the body has been read.
func (r *recentRefusals) recall(s *requestState) *recentRefusal {
	all := r.all.Load()
	own := all.Get(s.Team)
	if s.size[limit.Images] > 0 {
		recent := own[needsPictures].Load()
		stands := recent.holds(s.start) && recent.of == likenessOf(s)
		if stands && (recent.verdict.Reason != limit.ReasonHouse || recent.charged == all.house[needsPictures].Load()) {
			return recent
		}
		return nil
	}
	for need := range needsPictures {
		if need == needsTokens && s.route.endpoint != policy.EndpointText {
			break
		}
		for _, of := range [...]*teamRefusals{own, &all.house} {
			if recent := of[need].Load(); recent.holds(s.start) {
				return recent
			}
		}
	}
	return nil
}

// holds reports whether a refusal still holds at a moment.
func (r *recentRefusal) holds(now time.Time) bool {
	return r != nil && now.Sub(r.at) < min(r.verdict.Wait, recentFor)
}
