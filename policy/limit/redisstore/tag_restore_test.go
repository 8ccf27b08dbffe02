package redisstore

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

var evaluated = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// A restoration that took longer than a call may would begin again each time, and the team would stay without its accounts. A month may
// have 31,000 values of a tag; so a call restores many, each in all of its units.
func TestManyTagsAreRestoredInFewCalls(t *testing.T) {
	client := limittest.RealRedis(t)
	f := newRedisForm(t, client)
	team := limittest.Team(f, "tag_key: project", "tag_quotas: {tokens: {day: 10000}, spend: {day: 10000}}")
	f.ask(of("seen", "alpha", team, 1))
	o := f.redis.teams.Get("search")
	o.inner = map[scopeDay]limit.Amounts{}
	want := map[string]int64{"alpha": 0}
	for n := range 4500 {
		value := fmt.Sprint("v", n/5)
		o.inner[scopeDay{limit.ScopeTag, 20261117 + n%5, value}] = limit.Amounts{1, 1 + int64(n), 0, 7}
		if n%5 == 4 {
			want[value] = 1 + int64(n)
		}
	}
	client.FlushDB(t.Context())
	client.ConfigResetStat(t.Context())
	if err := f.redis.Restore(t.Context(), "search", Loss{}); err != nil {
		t.Fatal(err)
	}
	calls, _ := strconv.Atoi(evaluated.FindStringSubmatch(client.Info(t.Context(), "commandstats").Val())[1])
	if calls > 12 {
		t.Errorf("it took %d calls", calls)
	}
	got := map[string]int64{"alpha": 0}
	for _, s := range f.lookTags(team) {
		if s.Name() == "tokens-day-tag" && s.Used > 0 {
			got[s.Of] = s.Used
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
