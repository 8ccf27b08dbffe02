package figures

import (
	"fmt"
	"testing"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// A team with quotas per tag value has their standings, and its untagged use has no row in the ledger of tags.
func TestTeamHasItsTags(t *testing.T) {
	for _, redis := range []bool{false, true} {
		s := newStand(t, redis)
		var err error
		if s.file, err = teams.Parse(
			[]byte("teams: [{id: search, tag_key: project, tag_quotas: {tokens: {day: 100}}}, {id: shop}]")); err != nil {
			t.Fatal(err)
		}
		for i, tag := range []string{"alpha", "", "beta", "", "beta"} {
			s.tag = tag
			s.use("search", "m", policy.EndpointText, false, limit.Amounts{1, int64(10 + i)})
		}
		f, err := s.figures.Team(t.Context(), member, "search")
		got := names(f.Tags, func(r limit.Standing) string { return fmt.Sprintf("%q %d of %d", r.Of, r.Used, r.Limit) })
		if err != nil || got != `"beta" 26 of 100 "" 24 of 100 "alpha" 10 of 100` || f.TagKey != "project" || len(f.TagQuotas) != 1 {
			t.Errorf("redis=%v: %s, %s, %v, %v", redis, got, f.TagKey, f.TagQuotas, err)
		}
		day := s.Now().Format(limit.DayForm)
		m, err := s.figures.Money(t.Context(), operator, MoneyQuery{day, day, "tag", "", nil})
		rows := names(m.Rows, func(r Row) string { return fmt.Sprint(r.Name, " ", r.Used[limit.Tokens]) })
		if err != nil || rows != "beta 26 without a tag 24 alpha 10" {
			t.Errorf("redis=%v: %s, %v", redis, rows, err)
		}
		if f, err := s.figures.Team(t.Context(), operator, "shop"); err != nil || f.Tags != nil || f.TagKey != "" {
			t.Errorf("redis=%v: another team has %v, %v", redis, f.Tags, err)
		}
	}
}
