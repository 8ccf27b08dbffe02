package figures

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// TestTheNearestOfAllLimits: of quotas, rates, requests in flight, open tasks, values of the tag and keys; a rate only while it is not
// full.
func TestTheNearestOfAllLimits(t *testing.T) {
	const key, sum = "aaaaaaaaaaaa", "4745db43272f9dc36e3bbaaa11fffb19e5f3253580fa5b6092bfbdf53ce9643"
	for _, redis := range []bool{false, true} {
		s := newStand(t, redis)
		var err error
		s.file, err = teams.Parse([]byte(`teams:
- {id: quota, quotas: {tokens: {day: 100, month: 1000}}, open_tasks: 9}
- {id: rate, quotas: {tokens: {day: 100}}, rates: {requests: {per: 1m, limit: 2, burst: 2}}}
- {id: flight, concurrent: 3, quotas: {tokens: {day: 100}}}
- {id: tag, tag_key: project, tag_quotas: {tokens: {day: 50}}, quotas: {tokens: {day: 100}}}
- {id: key, quotas: {tokens: {day: 100}}, keys: [{id: ` + key + `, sha256: ` + sum + `1, quotas: {tokens: {month: 40}}}]}
- {id: none}
`))
		if err != nil {
			t.Fatal(err)
		}
		for _, team := range []string{"quota", "rate", "flight", "tag", "key", "none"} {
			s.tag, s.key = map[string]string{"tag": "alpha"}[team], map[string]string{"key": key}[team]
			s.use(team, "m", policy.EndpointText, false, limit.Amounts{1, 30, 0, 0})
		}
		expect := func(want map[string]string) {
			t.Helper()
			lines, err := s.figures.Lines(t.Context(), operator)
			if err != nil {
				t.Fatal(err)
			}
			for team, want := range want {
				got := "none"
				if n := lines[team].Nearest; n != nil {
					got = fmt.Sprintf("%s %s %d of %d: %d", n.Name, n.Of, n.Used, n.Most(), n.Percent)
				}
				if got != want {
					t.Errorf("redis=%v: %s: %s, want %s", redis, team, got, want)
				}
			}
		}
		expect(map[string]string{
			"quota": "tokens-day  30 of 100: 30", "rate": "requests  1 of 2: 50", "flight": "concurrent  2 of 2: 100",
			"tag": "tokens-day-tag alpha 30 of 50: 60", "key": "tokens-month-key " + key + " 30 of 40: 75", "none": "none",
		})
		s.Move(2 * time.Minute)
		expect(map[string]string{"rate": "tokens-day  30 of 100: 30"})
		list, err := s.figures.NearList(t.Context(), operator, 60)
		if got := names(list, func(l TeamLine) string { return l.ID }); err != nil || got != "flight key tag" {
			t.Errorf("redis=%v: near are %s, %v", redis, got, err)
		}
		if list, err := s.figures.NearList(t.Context(), member, 0); err != nil || len(list) != 0 {
			t.Errorf("redis=%v: a member of another team sees %+v, %v", redis, list, err)
		}
	}
}
