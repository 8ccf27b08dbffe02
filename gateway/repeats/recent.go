// Package repeats remembers for a moment that a limit refused a team and lets nothing through. Repeated requests of the team then cost no
// look at its accounts, and the bodies of its texts are not read.
//
// It refuses only what the smallest request could not pass either, and says only what holds for every such request. A request for pictures
// may be too large ever to fit, so it is refused only if it is like the one that was refused. The package knows no HTTP and decides no
// limit. [Strikes] slows down keys that send broken requests.
package repeats

import (
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// recentFor is the longest that a refusal is remembered.
const recentFor = time.Second

// Recent has the refusals of the last second. Create it with [New]; it is safe for concurrent use. After a charge of a team, which may
// have made room, and after a change of the teams' limits it MUST forget.
type Recent struct {
	all atomic.Pointer[allRefusals]
}

// Asked is what a request asks for.
type Asked struct {
	Team   string
	Text   bool // a text, which takes tokens
	Inside bool // its key, or each value of its tag, has limits of its own, which may refuse for longer than those of the team
	Alike  Alike
}

// Alike is what requests for pictures that get the same verdict have in common.
type Alike struct {
	Key, Tag, Model string
	Creates         bool // a task, which takes one of the open tasks
	Size            limit.Amounts
}

// allRefusals has the refusals of each team, and those by the house, which hold for every team.
type allRefusals struct {
	teams.PerTeam[teamRefusals]
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
	verdict limit.Verdict // reduced to what is true for every request that it refuses
	of      Asked         // the request that it refused
	at      time.Time
	closed  time.Duration // for how long the limit lets nothing through
	house   bool          // of pictures: the house refuses them
	// of pictures: the house's mark when it was remembered; any charge removes the mark, and then this no longer holds; nil: already removed
	charged *recentRefusal
}

// New returns a memory that is empty.
func New() *Recent {
	r := new(Recent)
	r.ForgetAll()
	return r
}

// ForgetAll drops every refusal.
func (r *Recent) ForgetAll() { r.all.Store(new(allRefusals)) }

// Forget drops the refusals of a team, and those by the house: a charge makes room in both.
func (r *Recent) Forget(team string) {
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

// Remember keeps a refusal, if no smaller request would have passed. given is the verdict that the client got. If that names a rate of the
// account (Hidden is set), Remember keeps the team's own refusal for other requests; given is repeated only to equal requests for pictures.
func (r *Recent) Remember(asked *Asked, given *limit.Verdict, now time.Time) {
	all, v := r.all.Load(), given
	if v.Hidden != nil {
		v = v.Hidden
	}
	own, need := all.Get(asked.Team), needsTokens
	if v.Closes() && asked.pictures() {
		own[needsPictures].Store(&recentRefusal{*given, *asked, now, v.Wait, v.Reason == limit.ReasonHouse, all.mark()})
	}
	if v.Reason == limit.ReasonHouse {
		own = &all.house
	}
	if v.Fault.Unit == unit.NameRequests {
		need = needsRequest
	}
	if least, ok := v.Least(); ok {
		own[need].Store(&recentRefusal{verdict: least, of: *asked, at: now, closed: least.Wait})
	}
}

// mark is the house's mark, which the next charge drops.
func (all *allRefusals) mark() *recentRefusal {
	charged, mark := &all.house[needsPictures], new(recentRefusal)
	if charged.CompareAndSwap(nil, mark) {
		return mark
	}
	return charged.Load()
}

// Recall returns the remembered refusal that holds for a request now; of several, the one with the longest wait. If the request may be for
// pictures, its body MUST have been read.
func (r *Recent) Recall(asked *Asked, now time.Time) (v limit.Verdict, ok bool) {
	recent := r.find(asked, now)
	if recent == nil {
		return v, false
	}
	return recent.verdict.After(now.Sub(recent.at)), true
}

func (r *Recent) find(asked *Asked, now time.Time) (longest *recentRefusal) {
	all := r.all.Load()
	own := all.Get(asked.Team)
	if asked.pictures() {
		recent := own[needsPictures].Load()
		if recent.holds(now) && recent.of.Alike == asked.Alike && (!recent.house || all.marked(recent.charged)) {
			return recent
		}
		return nil
	}
	for need := range needsPictures {
		if need == needsTokens && !asked.Text {
			break
		}
		for _, of := range [...]*teamRefusals{own, &all.house} {
			recent := of[need].Load()
			if recent.holds(now) && recent.holdsFor(asked) && (longest == nil || recent.ends().After(longest.ends())) {
				longest = recent
			}
		}
	}
	return longest
}

// marked reports whether no team has been charged since a mark was made.
func (all *allRefusals) marked(mark *recentRefusal) bool {
	return mark != nil && mark == all.house[needsPictures].Load()
}

func (a *Asked) pictures() bool { return a.Alike.Size[limit.Images] > 0 }

// holds reports whether a refusal still holds at a moment.
func (r *recentRefusal) holds(now time.Time) bool {
	return r != nil && now.Sub(r.at) < min(r.closed, recentFor)
}

// holdsFor reports whether a refusal has the longest wait of a request: limits inside the team refuse only their own requests.
func (r *recentRefusal) holdsFor(asked *Asked) bool {
	was, is := &r.of.Alike, &asked.Alike
	return !asked.Inside || r.of.Team == asked.Team && was.Key == is.Key && was.Tag == is.Tag
}

// ends is when a request would fit.
func (r *recentRefusal) ends() time.Time { return r.at.Add(r.verdict.Wait) }

// LimitOf is the limit that a verdict refuses by, as the request's line has it; zero: none. m is what the team's money counts in.
func LimitOf(v *limit.Verdict, m unit.Money) telemetry.Limit {
	f := &v.Fault
	l := telemetry.Limit{
		Name: f.Name(), Scope: f.Scope.String(), Of: f.Of, Unit: string(f.Unit), Per: f.Per, Money: m,
		Used: f.Used, Held: f.Held, Left: f.Left, Limit: f.Limit, Asked: v.Asked,
	}
	switch {
	case v.Reason == limit.ReasonNone || v.Reason == limit.ReasonState:
		return telemetry.Limit{}
	case v.Reason == limit.ReasonTasks:
		l.Name, l.Unit, l.Left = "open_tasks", "open_tasks", max(f.Limit-f.Used, 0)
	}
	return l
}

// Slots is the limit of requests in flight that refuses one: that of a team, or of a key at this gateway.
func Slots(scope limit.ScopeKind, of string, most int64) telemetry.Limit {
	return telemetry.Limit{Name: "concurrent", Scope: scope.String(), Of: of, Unit: "concurrent", Used: most, Limit: most, Asked: 1}
}
