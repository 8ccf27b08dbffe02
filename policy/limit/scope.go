package limit

import (
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// None is a quota that is not set.
const None = -1

// How many rates and quotas a scope may have.
const (
	RateCount  = unit.Count
	QuotaCount = unit.Count * len(teams.Periods)
)

// ScopeKind is what a scope limits.
type ScopeKind int

// The kinds of scopes. Those of the team's own accounts come first, in the order in which they are decided: the team's, and those
// inside it, the narrowest last. One call decides by all of them. The other kinds have separate accounts, the narrowest first.
const (
	ScopeTeam    ScopeKind = iota
	ScopeTag               // each value of the team's tag
	ScopeKey               // each key of the team that has limits of its own
	ScopeAccount           // an account at the service: models of it, or all of its work
	ScopeHouse             // all teams together

	TeamScopes  = int(ScopeAccount)
	InnerScopes = TeamScopes - 1
)

// scopeNames are the words for the kinds.
var scopeNames = [...]string{ScopeTeam: "team", ScopeTag: "tag", ScopeKey: "key", ScopeAccount: "account", ScopeHouse: "house"}

// String is the word for the kind: in the header Sluice-Scope, and after the names of the limits inside a team.
func (k ScopeKind) String() string { return scopeNames[k] }

// Scope is a set of limits that a request is charged in. A request is charged in all of its scopes, or in none.
type Scope struct {
	Kind   ScopeKind
	Name   string                // a key's id; of an account's scopes, the models: a reload that moves them in the file renames none
	Set    bool                  // some limit is set
	Rated  bool                  // some rate is set
	Quoted bool                  // some quota is set
	Rates  [RateCount]teams.Rate // Limit 0: none
	Quotas [QuotaCount]int64     // None: not set
	// Document has the quotas of a scope outside of the teams, like a team's; its id is no team's. Nil: the scope has rates only.
	Document *teams.Team
	counted  Inner  // how holds name a key that has limits
	limits   uint32 // bits of the rates and quotas that the files set, by their numbers
}

// ScopeOf returns the scope with these limits.
func ScopeOf(kind ScopeKind, name string, rates []teams.Rate, quotas []teams.Quota) Scope {
	s := Scope{Kind: kind, Name: name, Set: len(rates)+len(quotas) > 0, Rated: len(rates) > 0, Quoted: len(quotas) > 0}
	for q := range s.Quotas {
		s.Quotas[q] = None
	}
	for _, r := range rates {
		u := unit.Index(r.Unit)
		s.Rates[u] = r
		s.limits |= 1 << u
	}
	for _, q := range quotas {
		n := quotaNumber(q)
		s.Quotas[n] = q.Limit
		s.limits |= 1 << (LimitQuotas + n)
	}
	return s
}

// quotaNumber is a quota's index among those of a scope.
func quotaNumber(q teams.Quota) int {
	if q.Period == teams.PeriodMonth {
		return 2*unit.Index(q.Unit) + 1
	}
	return 2 * unit.Index(q.Unit)
}

// Takes returns what a hold takes from the scope's rates. Of an estimated unit, the account's scopes take a quarter of the bucket
// at most.
func (s *Scope) Takes(amounts *Amounts) Amounts {
	a := *amounts
	for u, r := range s.Rates {
		if s.Kind == ScopeAccount && unit.Table[u].Estimated {
			a[u] = min(a[u], max(r.Burst/4, 1))
		}
		if r.Limit == 0 {
			a[u] = 0
		}
	}
	return a
}

// RateSet names rates of the team's own accounts by bits: bit 0 is the team's rate of the first unit, bit 1 that of the second, and so on;
// those of the scopes inside it follow, in the order of their kinds.
type RateSet uint16

const _ = uint(16 - RateCount*TeamScopes) // a set has room for the rates of all scopes inside the team

// Of returns the rates of the scope of a kind, as those of the team stand in a set.
func (s RateSet) Of(k ScopeKind) RateSet { return s >> (RateCount * int(k)) & (1<<RateCount - 1) }

// Has reports whether a unit's rate is in the set: the team's, or of a set that Of returned.
func (s RateSet) Has(unit int) bool { return s&(1<<unit) != 0 }

// RateSet names the rates that are set.
func (t *Terms) RateSet() (set RateSet) {
	for k := range ScopeKind(TeamScopes) {
		set |= RateSet(t.Of(k).limits&(1<<RateCount-1)) << (RateCount * int(k))
	}
	return set
}

// Counts reports whether a quota counts a unit.
func (s *Scope) Counts(unit int) bool {
	return s.Quoted && (s.Quotas[2*unit] != None || s.Quotas[2*unit+1] != None)
}

// share is one replica's part of a scope's rates.
func (s *Scope) share(replicas int) Scope {
	mine := *s
	for i := range mine.Rates {
		mine.Rates[i] = shareOf(s.Rates[i], int64(replicas))
	}
	return mine
}

// shareOf divides a rate among replicas. The period grows instead of the limit shrinking: 5 per second over three replicas is 5 per 3
// seconds each.
func shareOf(r teams.Rate, replicas int64) teams.Rate {
	if r.Limit == 0 {
		return r
	}
	r.Per *= time.Duration(replicas)
	r.Burst = max(r.Burst/replicas, min(max(unit.Table[unit.Index(r.Unit)].AtOnce, 1), r.Burst))
	return r
}

// Balance is how much of a scope's limits is taken.
type Balance struct {
	Used  [QuotaCount]int64 // by quota number
	Held  [QuotaCount]int64 // by quota number, this request's included; allowances are not
	Rates [RateCount]Fill
	Other bool // the hold's name is counted under [Other]
}

// Fill is how full a bucket is.
type Fill struct {
	Left int64         // whole units that would fit now; negative in debt
	Full time.Duration // until it is full
}

// Stock is an amount of everything that a quota or open_tasks counts: the units, in the order of [Amounts], and open tasks.
type Stock [unit.Count + 1]int64

// StockTasks is the index of open tasks in a Stock.
const StockTasks = unit.Count

// StockOf returns the stock that a request takes: its amounts, and one open task if it creates one.
func StockOf(a *Amounts, task bool) (s Stock) {
	copy(s[:], a[:])
	if task {
		s[StockTasks] = 1
	}
	return s
}

// Plus adds stocks.
func (s Stock) Plus(o Stock) Stock {
	for i := range s {
		s[i] += o[i]
	}
	return s
}

// Minus subtracts stocks.
func (s Stock) Minus(o Stock) Stock {
	for i := range s {
		s[i] -= o[i]
	}
	return s
}

// AtMost is the smaller of two amounts of each, and at least 0.
func (s Stock) AtMost(o Stock) Stock {
	for i := range s {
		s[i] = max(min(s[i], o[i]), 0)
	}
	return s
}

// LeftOf returns the stock that a team has left by its last known state: of each unit the smaller of day and month, None if it is
// not limited. A unit that quotas inside the team count has 0: it cannot be spent without Redis.
func LeftOf(t *Terms, s *State) (left Stock) {
	for i := range left {
		left[i] = None
	}
	for q, limit := range t.Quotas {
		if limit == None {
			continue
		}
		rest := max(limit-s.Used[q]-s.Held[q], 0)
		for i := range t.Inner {
			if t.Inner[i].Counts(q / 2) {
				rest = 0
			}
		}
		if u := q / 2; left[u] == None || rest < left[u] {
			left[u] = rest
		}
	}
	if t.Tasks != None {
		left[StockTasks] = max(t.Tasks-s.Tasks, 0)
	}
	return left
}
