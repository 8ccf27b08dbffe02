package failover

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// limited is a limit of requests on paper.
type limited struct {
	scope      limit.ScopeKind
	rate       teams.Rate // zero: a quota
	full       int64      // microseconds; when the bucket is full
	most       int64
	used, held int64
	end        time.Time // of the quota's period
}

func (l *limited) wait(now time.Time) time.Duration {
	if l.rate.Limit > 0 {
		over := max(l.full-now.UnixMicro(), 0) + limit.Taking(l.rate, 1) - limit.FullIn(l.rate)
		return time.Duration(max(over, 0)) * time.Microsecond
	}
	switch {
	case l.used+l.held < l.most:
		return 0
	case l.used < l.most:
		return 5 * time.Second // a hold may end
	}
	return l.end.Sub(now)
}

func (l *limited) take(now time.Time, settled bool) {
	switch {
	case l.rate.Limit > 0:
		l.full = max(l.full, now.UnixMicro()) + limit.Taking(l.rate, 1)
	case settled:
		l.used++
	default:
		l.held++
	}
}

// before reports whether a limit is named before another of an equal wait: the narrowest, and of one scope a rate before a quota.
func (l *limited) before(other *limited) bool {
	if l.scope == other.scope {
		return l.rate.Limit > 0 && other.rate.Limit == 0
	}
	return rank(l.scope) < rank(other.scope)
}

// rank orders limits: of equal waits the narrowest is named.
func rank(s limit.ScopeKind) int {
	return slices.Index([]limit.ScopeKind{limit.ScopeKey, limit.ScopeTag, limit.ScopeTeam, limit.ScopeAccount, limit.ScopeHouse}, s)
}

// drawLimits draws the limits of a team, its key, an account at the service and the house, which used some before.
func drawLimits(t *rapid.T, n int, house *limited, now time.Time) (file *teams.File, account *teams.Account, all []*limited) {
	date := limit.CalendarOf(now)
	rate := func(about string) (r teams.Rate) {
		if n := rapid.Int64Range(0, 3).Draw(t, about); n > 0 {
			r = teams.Rate{Unit: unit.NameRequests, Limit: n, Burst: n,
				Per: time.Duration(n*rapid.Int64Range(1, 30).Draw(t, "seconds each")) * time.Second} // whole µs each
			r.PerText = r.Per.String()
		}
		return r
	}
	quota := func(about string) int64 { return rapid.Int64Range(0, 6).Draw(t, about) }
	line := func(r teams.Rate, q int64, period string) (text string) {
		if r.Limit > 0 {
			text += fmt.Sprintf(", rates: {requests: {per: %s, limit: %d}}", r.PerText, r.Limit)
		}
		if q > 0 {
			text += fmt.Sprintf(", quotas: {requests: {%s: %d}}", period, q)
		}
		return text
	}
	note := func(s limit.ScopeKind, r teams.Rate, q int64, month int) {
		if r.Limit > 0 {
			all = append(all, &limited{scope: s, rate: r})
		}
		if q > 0 {
			all = append(all, &limited{scope: s, most: q, end: date.End[month]})
		}
	}
	keyRate, keyQuota, teamRate, teamQuota := rate("key's rate"), quota("key's quota"), rate("team's rate"), quota("team's quota")
	accountRate, housed := rate("account's rate"), quota("house's quota")
	note(limit.ScopeKey, keyRate, keyQuota, 0)
	note(limit.ScopeTeam, teamRate, teamQuota, 1)
	note(limit.ScopeAccount, accountRate, 0, 0)
	doc := fmt.Sprintf("teams:\n  - {id: t%d, keys: [{id: aaaaaaaaaaaa, sha256: %064d%s}]%s}\n", n, n, line(keyRate, keyQuota, "day"),
		line(teamRate, teamQuota, "month"))
	month := rapid.IntRange(0, 1).Draw(t, "of the month")
	house.most, house.end = cmp.Or(housed, 1_000_000)+house.used+house.held, date.End[month]
	file, err := teams.Parse([]byte(fmt.Sprintf("house: {quotas: {requests: {%s: %d}}}\n", teams.Periods[month], house.most) + doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	account = &teams.Account{ID: fmt.Sprintf("a%d", n)}
	if accountRate.Limit > 0 {
		account.Limits = []teams.AccountLimit{{Rates: []teams.Rate{accountRate}}}
	}
	return file, account, append(all, house)
}

// TestTheLongestWaitOfAllIsNamed: of the limits of a key, its team, an account at the service and the house that refuse, the one with the
// longest wait, at equal waits the narrowest, by both forms; and what refuses takes nothing.
func TestTheLongestWaitOfAllIsNamed(t *testing.T) {
	unlessTold(t, "rapid.checks", "60")
	eachBranches(t, func(b *branches) {
		house, n := limited{scope: limit.ScopeHouse}, 0
		named := map[limit.ScopeKind]int{}
		rapid.Check(b.T, func(rt *rapid.T) {
			n++
			file, account, all := drawLimits(rt, n, &house, b.clock.Now())
			for range 14 {
				b.clock.Move(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "passes")) * time.Millisecond)
				now := b.clock.Now()
				h := b.hold(file, file.List[0].ID, limit.Amounts{limit.Requests: 1})
				h.Lease, h.Key, h.Account, h.Outside = 100*time.Hour, "aaaaaaaaaaaa", account.ID, b.outsides.For(file, account, h.Model)
				var want *limited
				for _, l := range all {
					if wait := l.wait(now); wait > 0 && (want == nil || wait > want.wait(now) || wait == want.wait(now) && l.before(want)) {
						want = l
					}
				}
				v := b.try(h)
				switch {
				case (v.Held == nil) != (want != nil):
					rt.Fatalf("admitted %t: %+v", v.Held != nil, v)
				case want != nil:
					if named[want.scope]++; v.Fault.Scope != want.scope || v.Wait != want.wait(now) || (v.Fault.Period == "") != (want.rate.Limit > 0) {
						rt.Fatalf("refused by %v for %v, %+v; want %v for %v", v.Fault.Scope, v.Wait, v, want.scope, want.wait(now))
					}
					continue
				}
				settled := rapid.Bool().Draw(rt, "settled")
				for _, l := range all {
					l.take(now, settled)
				}
				if settled {
					b.settleOne(rt, v.Held, file)
				}
			}
		})
		if len(named) != 4 && !testing.Short() {
			b.Errorf("not every limit was named: %v", named)
		}
	})
}

// A quota of a key, or of a value of the tag, and a rate of the team that make a request wait equally long: the narrowest is named, and
// of one scope the rate.
func TestOfEqualWaitsTheNarrowestIsNamed(t *testing.T) {
	const rate, quota = ", rates: {requests: {per: 5s, limit: 1}}", ", quotas: {requests: {day: 1}}" // of what is held a wait is 5 s, too
	for _, tt := range []struct {
		about, key, team string
		scope            limit.ScopeKind
		rated            bool
	}{
		{"the key's quota", quota, rate, limit.ScopeKey, false},
		{"the key's rate", rate, quota, limit.ScopeKey, true},
		{"the quota of the tag's value", "", rate + ", tag_key: project, tag_quotas: {requests: {day: 1}}", limit.ScopeTag, false},
		{"the key's rate before the quota of the tag's value", rate, rate + ", tag_key: project, tag_quotas: {requests: {day: 1}}",
			limit.ScopeKey, true},
		{"the key's quota before that of the tag's value", quota, rate + ", tag_key: project, tag_quotas: {requests: {day: 1}}", limit.ScopeKey,
			false},
		{"the team's rate", "", rate + quota, limit.ScopeTeam, true},
		{"the key's rate before its quota", rate + quota, "", limit.ScopeKey, true},
	} {
		t.Run(tt.about, func(t *testing.T) {
			doc := fmt.Sprintf("teams:\n  - {id: search, keys: [{id: aaaaaaaaaaaa, sha256: %064d%s}]%s}\n", 1, tt.key, tt.team)
			estates(t, doc, func(e *estate) {
				var v limit.Verdict
				for range 2 {
					h := e.hold(e.File, "search", limit.Amounts{limit.Requests: 1})
					h.Key, h.Tag = "aaaaaaaaaaaa", "river"
					v = e.try(h)
				}
				if v.Held != nil || v.Wait != 5*time.Second || v.Fault.Scope != tt.scope || (v.Fault.Period == "") != tt.rated {
					e.Errorf("refused by %v for %v: %+v", v.Fault.Scope, v.Wait, v)
				}
			})
		})
	}
}

func (b *branches) settleOne(t *rapid.T, held *limit.Held, file *teams.File) {
	done, err := b.Settle(b.Context(), &limit.Charge{Held: held, Team: file.List[0], Amounts: limit.Amounts{limit.Requests: 1}})
	if err != nil || !done {
		t.Fatalf("settled %t, %v", done, err)
	}
}
