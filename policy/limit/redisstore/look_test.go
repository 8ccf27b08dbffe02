package redisstore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

func TestLook(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {tokens: {per: 1m, limit: 600, burst: 100}}", "quotas: {spend: {month: 2.50}}", "open_tasks: 3")
		h := hold("a", team, limit.Amounts{limit.Tokens: 30, limit.Spend: 500_000_000})
		h.Task = true
		f.ask(h)
		look := func() limit.Report {
			var r limit.Report
			var err error
			if f.memory != nil {
				r, err = f.memory.Look(f.Context(), team)
			} else {
				var s limit.State
				s, err = f.redis.Look(f.Context(), team)
				t := limit.TermsOf(team)
				r = s.Report(&t)
			}
			if err != nil {
				f.Fatal(err)
			}
			return r
		}
		first, again := look(), look()
		if first.Tasks != 1 || len(first.Limits) != 2 || len(again.Limits) != 2 || first.Limits[0] != again.Limits[0] {
			f.Fatalf("%+v, then %+v", first, again)
		}
		if got, want := first.Limits[0], (limit.Standing{Unit: unit.NameTokens, Per: "1m", Limit: 600, Window: time.Minute, Used: 30, Left: 70,
			Reset: 3 * time.Second}); got != want {
			f.Errorf("the rate: %+v, want %+v", got, want)
		}
		if got := first.Limits[1]; got.Held != 500_000_000 || got.Used != 0 || got.Left != 2_000_000_000 ||
			!first.At.Add(got.Reset).Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
			f.Errorf("the quota: %+v", got)
		}
	})
}

// TestLookAllSaysWhatEachLookSays, of rates, tags and keys. In Redis the rates of any number of teams are one round trip; what Redis does
// not know any more is left out.
func TestLookAllSaysWhatEachLookSays(t *testing.T) {
	forms(t, func(f *form) {
		const key = "aaaaaaaaaaaa"
		file, err := teams.Parse([]byte(`teams:
- {id: rated, rates: {tokens: {per: 1m, limit: 600, burst: 100}}}
- {id: plain}
- {id: tagged, tag_key: project, tag_quotas: {tokens: {day: 50, month: 70}}}
- {id: keyed, rates: {requests: {per: 1m, limit: 60}}, keys: [{id: ` + key + `, sha256: ` + strings.Repeat("ab", 32) +
			`, rates: {tokens: {per: 1m, limit: 40}}, quotas: {tokens: {day: 90}}}]}
`))
		if err != nil {
			f.Fatal(err)
		}
		list := file.List
		for i, team := range list {
			h := hold(id(i), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 30})
			h.Tag, h.Key = map[string]string{"tagged": "alpha"}[team.ID], map[string]string{"keyed": key}[team.ID]
			f.admit(h)
			f.settle(f.held(h), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 20}, false)
		}
		now := f.clock.Now()
		each := func(team *teams.Team) (all []limit.Standing) {
			var inside [2][]limit.Standing
			if f.memory != nil {
				r, _ := f.memory.Look(f.Context(), team)
				for k := range inside {
					inside[k], _ = f.memory.LookInside(f.Context(), team, limit.ScopeKind(k+1), now)
				}
				return slices.Concat(r.Limits, inside[0], inside[1])
			}
			s, err := f.redis.Look(f.Context(), team)
			for k := range inside {
				inside[k], _ = f.redis.LookInside(f.Context(), team, limit.ScopeKind(k+1), now)
			}
			t := limit.TermsOf(team)
			if r := s.Report(&t); err == nil && len(team.Rates) > 0 {
				all = r.Limits
			}
			return slices.Concat(all, inside[0], inside[1])
		}
		all := func() [][]limit.Standing {
			look := func(inside bool) [][]limit.Standing {
				if f.memory != nil {
					return f.memory.LookAll(f.Context(), list, inside, now)
				}
				return f.redis.LookAll(f.Context(), list, inside, now)
			}
			all := look(false)
			for i, more := range look(true) {
				all[i] = append(all[i], more...)
			}
			return all
		}
		for i, got := range all() {
			if want := each(list[i]); !slices.Equal(got, want) {
				f.Errorf("%s: %+v, want %+v", list[i].ID, got, want)
			}
		}
		if f.memory != nil {
			return
		}
		list = []*teams.Team{list[0], list[0], list[1]}
		c := new(trips)
		f.client.(*redis.Client).AddHook(c)
		if len(all()[0]) != 1 || !slices.Equal(c.calls, []int{2}) {
			f.Errorf("rates took calls of %d questions", c.calls)
		}
		f.client.FlushDB(f.Context())
		if got := all(); got[0] != nil {
			f.Errorf("Redis has lost its memory, and says %+v", got)
		}
	})
}
