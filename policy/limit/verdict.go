package limit

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Reason is why a request is refused: the second word of its row in the table of refusals.
type Reason string

// The reasons.
const (
	ReasonNone    Reason = ""
	ReasonNever   Reason = "never"      // the exact cost is more than a limit ever lets pass
	ReasonRate    Reason = "rate"       // a token bucket
	ReasonQuota   Reason = "quota"      // a calendar quota
	ReasonTasks   Reason = "open_tasks" // too many tasks are open
	ReasonAccount Reason = "account"    // a limit of the account at the service
	ReasonHouse   Reason = "house"      // a quota of all teams together
	ReasonState   Reason = "state"      // what the team has left is unknown
)

// Verdict is the answer to a hold.
type Verdict struct {
	Held   *Held         // nil when the request is refused; it must not be changed
	Reason Reason        // why it is refused, or why a team in shadow mode would be
	Fault  Standing      // the limit that refuses; zero for never and state
	Wait   time.Duration // until this request fits; never too short
	Asked  int64         // the amount that the request asked of that limit
	Aside  Aside         // the part of that limit that is set aside for lost replicas; zero: none known
	Owed   *Charge       // a charge that still has to give the hold back; nil: none
	Limits []Standing    // every limit that the request is charged in; nil: none
	Hidden *Verdict      // the refusal by the team, its key, its tag or the house, if a rate outside with a longer wait replaces it; nil: none

	kept *atomic.Pointer[policyField] // for requests that are charged in the same units by the same terms; nil: nothing is kept
}

// Standing is one limit of a team, and how much of it is taken.
type Standing struct {
	Unit   unit.Name
	Period teams.Period // empty for a rate
	Per    string       // a rate's per as the file writes it, or the period
	Limit  int64
	Window time.Duration // a rate's per, or the length of the period
	Used   int64         // of a quota; 0 for a rate
	Held   int64         // of a quota; 0 for a rate
	Left   int64         // after this hold, at least 0
	Reset  time.Duration // until a bucket is full, or a period ends
	Scope  ScopeKind     // whose limit it is; zero: the team's
	// Of is the value of the tag (empty: untagged requests), the id of the key, or the id of the account at the service (empty: there is only
	// one).
	Of string
}

// Name is how headers name the limit: the unit, and for a quota the period, "images-day"; that of a value of the tag is
// "images-day-tag", and that of a key "images-day-key".
func (s *Standing) Name() string { return string(s.appendName(nil)) }

func (s *Standing) appendName(b []byte) []byte {
	if b = append(b, s.Unit...); s.Period != "" {
		b = append(append(b, '-'), s.Period...)
	}
	if s.Inside() {
		b = append(append(b, '-'), s.Scope.String()...)
	}
	return b
}

// Inside reports whether the limit is of a part of the team.
func (s *Standing) Inside() bool { return s.Scope > ScopeTeam && s.Scope < ScopeKind(TeamScopes) }

// standing describes a limit, which must be set, by its number in a scope of this name.
func (s *State) standing(scope *Scope, b *Balance, n int, name string) Standing {
	if b.Other {
		name = Other
	}
	if n >= LimitQuotas {
		return b.quota(scope, n-LimitQuotas, name, &s.Date, s.At)
	}
	r, f := &scope.Rates[n], &b.Rates[n]
	left := max(f.Left, 0)
	return Standing{Unit: r.Unit, Per: r.PerText, Limit: r.Limit, Window: r.Per, Left: left, Reset: f.Full, Scope: scope.Kind, Of: name}
}

// quota describes a quota by its number, of a scope of this name.
func (b *Balance) quota(s *Scope, q int, name string, date *Calendar, at time.Time) Standing {
	unit, period, most := unit.Names[q/2], teams.Periods[q%2], s.Quotas[q]
	return Standing{
		Unit: unit, Period: period, Per: string(period), Limit: most, Window: date.length[q%2], Scope: s.Kind, Of: name,
		Used: b.Used[q], Held: b.Held[q], Left: max(most-b.Used[q]-b.Held[q], 0), Reset: date.End[q%2].Sub(at),
	}
}

// Verdict turns the state into the answer to a request.
func (s *State) Verdict(t *Terms, h *Hold) (v Verdict) {
	if !teams.IsOutside(h.Team.ID) { // clients do not see the limits of outside accounts
		v.Limits = s.limits(t, h)
		v.kept = t.policyFor(&h.Amounts)
	}
	if s.Fault != LimitNone {
		v.blame(s, t, h)
	}
	if s.Outcome != Refused {
		if v.Held = s.Made; v.Held == nil {
			v.Held = HeldOf(h, t, &s.Date)
			v.Held.Rates = s.takes(t)
		}
	}
	return v
}

// limits describes every limit that a hold is charged in; nil: none.
func (s *State) limits(t *Terms, h *Hold) (list []Standing) {
	n := 0
	for k := range ScopeKind(TeamScopes) {
		n += bits.OnesCount32(t.Of(k).limits)
	}
	for k := range ScopeKind(TeamScopes) {
		scope, b, name := t.Of(k), s.Of(k), h.nameIn(k)
		for rest := scope.limits; rest != 0; rest &= rest - 1 {
			number := bits.TrailingZeros32(rest)
			if h.Amounts[unitOf(number)] == 0 || !scope.has(number) {
				continue
			}
			if list == nil {
				list = make([]Standing, 0, n)
			}
			list = append(list, s.standing(scope, b, number, name))
		}
	}
	return list
}

func (v *Verdict) blame(s *State, t *Terms, h *Hold) {
	v.Wait = s.Wait
	switch {
	case s.Fault == LimitTasks:
		v.Reason, v.Asked = ReasonTasks, 1
		v.Fault = Standing{Limit: t.Tasks, Used: s.Tasks}
		return
	case s.Fault%scopeLimits < LimitQuotas:
		v.Reason = ReasonRate
	default:
		v.Reason = ReasonQuota
	}
	k := ScopeKind(s.Fault / scopeLimits)
	v.Fault = s.standing(t.Of(k), s.Of(k), s.Fault%scopeLimits, h.nameIn(k))
	v.Asked = h.Amounts[unit.Index(v.Fault.Unit)]
	v.markReset()
}

// givenBack are a team's limits once the hold is given back.
func (h *Hold) givenBack(limits []Standing) []Standing {
	for i := range limits {
		l := &limits[i]
		l.Left += h.asked(l)
		if l.Period != "" {
			l.Held -= h.asked(l)
		}
	}
	return limits
}

// asked returns how much a hold takes of the unit of a limit.
func (h *Hold) asked(s *Standing) int64 { return h.Amounts[unit.Index(s.Unit)] }

// has reports whether a rate or quota is set, by its number in the scope.
func (s *Scope) has(n int) bool {
	if n < LimitQuotas {
		return s.Rates[n].Limit > 0
	}
	return s.Quoted && s.Quotas[n-LimitQuotas] != None
}

// unitOf is the unit of a rate or quota, by its number in the scope.
func unitOf(number int) int {
	if number < LimitQuotas {
		return number
	}
	return (number - LimitQuotas) / 2
}

// Aside is a part of a quota, or open tasks, that is set aside for a lost replica.
type Aside struct {
	Amount int64
	Back   time.Duration // until it is given back at the latest, if the replica does not come back
}

// AddAside adds to a refusal by a quota or by open tasks the part of that limit that is set aside for lost replicas. If the request
// would not fit beside it even after all holds are released, it waits until enough is given back.
func (v *Verdict) AddAside(list []Aside) {
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
	if v.Reason == ReasonQuota { // nothing is set aside of a new period
		v.Wait, v.Aside.Back = min(v.Wait, v.Fault.Reset), min(v.Aside.Back, v.Fault.Reset)
	}
	v.markReset()
}

// Closes reports whether the refusal is by a limit of the team, or of the house, that lets nothing pass at the moment. Limits of a
// tag's value, or of a key, let others pass.
func (v *Verdict) Closes() bool {
	switch v.Reason {
	case ReasonTasks:
		return true
	case ReasonRate, ReasonQuota, ReasonHouse:
		return !v.Fault.Inside() && v.Fault.Left == 0
	}
	return false
}

// Least returns the refusal that every request without pictures gets by the same limit while the limit lets nothing pass: every such
// request of the team, or of any team if the house refuses. It names the amount asked only if that is one request.
func (v *Verdict) Least() (least Verdict, ok bool) {
	least = *v
	tokens := v.Fault.Unit == unit.NameTokens && v.Fault.Period != "" // a smaller one fits into a rate earlier
	if !v.Closes() || v.Aside.Amount > 0 || v.Fault.Unit != unit.NameRequests && !tokens {
		return least, false // how long it waits depends on the request
	}
	if tokens {
		least.Asked = 0
	}
	if v.Fault.Period != "" && v.Fault.Used < v.Fault.Limit {
		least.Wait = min(v.Wait, holdsWait)
	}
	least.Limits = nil
	for i := range v.Limits {
		if l := &v.Limits[i]; v.Reason != ReasonHouse && !l.Inside() && (l.Unit == unit.NameRequests || tokens && l.Unit == unit.NameTokens) {
			least.Limits = append(least.Limits, *l)
		}
	}
	least.markReset()
	return least, true
}

// After is the verdict some time later, if nothing has changed.
func (v *Verdict) After(d time.Duration) Verdict {
	later := *v
	later.Limits = slices.Clone(v.Limits)
	for i := range later.Limits {
		later.Limits[i].Reset = max(later.Limits[i].Reset-d, 0)
	}
	later.Wait, later.Fault.Reset, later.Aside.Back = max(v.Wait-d, 0), max(v.Fault.Reset-d, 0), max(v.Aside.Back-d, 0)
	return later
}

// markReset sets the reset of the refusing limit to the time until the request fits.
func (v *Verdict) markReset() {
	for i := range v.Limits {
		if l := &v.Limits[i]; l.Unit == v.Fault.Unit && l.Period == v.Fault.Period && l.Scope == v.Fault.Scope {
			l.Reset = v.Wait
		}
	}
}

// Report is the state of all of a team's limits at one moment.
type Report struct {
	At     time.Time  // by the clock of the accounts
	Limits []Standing // its rates, then its quotas
	Tasks  int64      // open tasks
}

// Report describes all of a team's limits.
func (s *State) Report(t *Terms) Report {
	r := Report{At: s.At, Tasks: s.Tasks}
	for number := range LimitTasks {
		if !t.has(number) {
			continue
		}
		standing := s.standing(&t.Scope, &s.Balance, number, "")
		if number < LimitQuotas {
			standing.Used = max(t.Rates[number].Burst-s.Rates[number].Left, 0)
		}
		r.Limits = append(r.Limits, standing)
	}
	return r
}

// Quotas is the report without the rates.
func (r Report) Quotas() Report {
	r.Limits = slices.DeleteFunc(r.Limits, func(s Standing) bool { return s.Period == "" })
	return r
}
