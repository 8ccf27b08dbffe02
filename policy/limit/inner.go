package limit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/policy/teams"
)

// Inner names the part of a team that a hold is for, the value of the team's tag_key or a key, and says whether quotas of that part
// counted the hold when it was made. The zero Inner has no name. A counted Inner may have the empty name: that of untagged requests.
type Inner string

// countedInner begins an Inner that was counted. No name contains it.
const countedInner = "@"

// Other is the model that collects a day's use beyond 1,000 rows, and the tag or key that collects its use beyond 1,000 of them.
const Other = "other"

// InnerOf returns the Inner of a name. counted: quotas of each part count it.
func InnerOf(name string, counted bool) Inner {
	if counted {
		return Inner(countedInner + name)
	}
	return Inner(name)
}

// Counted reports whether quotas of the part counted the hold.
func (p Inner) Counted() bool { return strings.HasPrefix(string(p), countedInner) }

// Name is the value of the tag, or the key's id, or empty.
func (p Inner) Name() string { return strings.TrimPrefix(string(p), countedInner) }

// AsOther is the part that collects those beyond a bound; an empty part stays empty.
func (p Inner) AsOther() Inner {
	if p == "" {
		return p
	}
	return InnerOf(Other, p.Counted())
}

// InnerDay is what one part of a team used and holds of one day.
type InnerDay struct {
	Day        int    // yyyymmdd
	Name       string // empty: that of requests without the tag
	Used, Held Amounts
}

// TagStandings describes the quotas of each value of a team's tag at a moment, by what the values used and hold on the days of
// [InnerDays]. The standings of one value are adjacent, and the values that used the largest part of a quota come first. Quotas
// without use are left out.
func TagStandings(t *teams.Team, at time.Time, days []InnerDay) (list []Standing) {
	scope := TermsOf(t).Inner[ScopeTag-1]
	for value, b := range balancesOf(at, days) {
		for _, standing := range b.quotas(&scope, value, at) {
			if standing.Used+standing.Held != 0 {
				list = append(list, standing)
			}
		}
	}
	sortParts(list)
	return list
}

// KeyStandings describes the limits of a team's keys that have limits of their own, at a moment: their rates, by how long each takes
// to be full, and their quotas, by what they used and hold on the days of [InnerDays]. They are ordered as by [TagStandings].
func KeyStandings(t *teams.Team, at time.Time, days []InnerDay, full func(key string) [RateCount]time.Duration) (list []Standing) {
	balances := balancesOf(at, days)
	for _, k := range t.CountedKeys() {
		scope, missing := keyScope(k), full(k.ID)
		for i := range scope.Rates {
			if r := &scope.Rates[i]; r.Limit > 0 {
				fill := FillOf(*r, missing[i].Microseconds())
				list = append(list, Standing{
					Unit: r.Unit, Per: r.PerText, Limit: r.Limit, Window: r.Per, Left: max(fill.Left, 0), Used: max(r.Burst-fill.Left, 0),
					Reset: fill.Full, Scope: ScopeKey, Of: k.ID,
				})
			}
		}
		b := balances[k.ID]
		if b == nil {
			b = new(Balance)
		}
		list = append(list, b.quotas(&scope, k.ID, at)...)
	}
	sortParts(list)
	return list
}

// quotas describes the quotas of a scope that are set, by the name of the part.
func (b *Balance) quotas(scope *Scope, name string, at time.Time) (list []Standing) {
	date := CalendarOf(at)
	for q, most := range scope.Quotas {
		if scope.Quoted && most != None {
			list = append(list, b.quota(scope, q, name, &date, at))
		}
	}
	return list
}

// balancesOf adds up what each part used and holds of the day and the month of a moment.
func balancesOf(at time.Time, days []InnerDay) map[string]*Balance {
	date, parts := CalendarOf(at), map[string]*Balance{}
	for _, d := range days {
		b := parts[d.Name]
		if b == nil {
			b = new(Balance)
			parts[d.Name] = b
		}
		for q := range QuotaCount {
			if q%2 == 1 || d.Day == date.Day {
				b.Used[q], b.Held[q] = b.Used[q]+d.Used[q/2], b.Held[q]+d.Held[q/2]
			}
		}
	}
	return parts
}

// sortParts orders standings by the largest used part of a quota of their names, and those of one name as they are.
func sortParts(list []Standing) {
	fullest := map[string]float64{}
	for i := range list {
		if s := &list[i]; s.Period != "" {
			fullest[s.Of] = max(fullest[s.Of], float64(s.Used+s.Held)/float64(max(s.Limit, 1)))
		}
	}
	slices.SortStableFunc(list, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(fullest[b.Of], fullest[a.Of]), strings.Compare(a.Of, b.Of))
	})
}

// InnerDays lists the days, yyyymmdd, whose use counts in quotas of a team's parts at a moment: that day, or all days of its month if
// one of the quotas is monthly.
func InnerDays(t *teams.Team, k ScopeKind, at time.Time) []int {
	date, quotas := CalendarOf(at), t.TagQuotas
	if k == ScopeKey {
		quotas = nil
		for _, key := range t.CountedKeys() {
			quotas = append(quotas, key.Quotas...)
		}
	}
	if !slices.ContainsFunc(quotas, func(q teams.Quota) bool { return q.Period == teams.PeriodMonth }) {
		return []int{date.Day}
	}
	return date.MonthDays()
}
