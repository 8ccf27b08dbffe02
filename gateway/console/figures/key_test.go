package figures

import (
	"errors"
	"fmt"
	"testing"

	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// A key's figures are its own limits, those of its team, and its use by day of the month: not that of another key or of requests without
// one.
func TestAKeyHasItsMonth(t *testing.T) {
	const one, two, sum = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "4745db43272f9dc36e3bbaaa11fffb19e5f3253580fa5b6092bfbdf53ce9643"
	for _, redis := range []bool{false, true} {
		s := newStand(t, redis)
		var err error
		s.file, err = teams.Parse([]byte("teams: [{id: search, quotas: {tokens: {day: 100}}, keys: [{id: " + one + ", sha256: " + sum +
			"1, quotas: {tokens: {month: 90}}}, {id: " +
			two + ", sha256: " + sum + "2}]}, {id: shop}]"))
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{one, "", two, one, "jwt:indexer"} {
			s.key = key
			s.use("search", "m", policy.EndpointText, i == 0, limit.Amounts{1, int64(10 + i)})
		}
		today := s.Now().UTC().Format(limit.DayForm)
		for key, want := range map[string]string{one: "tokens-month-key 23 of 90; 23", two: "; 12", "jwt:indexer": "; 14",
			"cccccccccccc": "; 0"} {
			f, err := s.figures.Key(t.Context(), member, "search", key)
			if err != nil || len(f.Days) != s.Now().UTC().Day() || f.Days[len(f.Days)-1].Name != today || f.Report.Limits[0].Used != 60 {
				t.Fatalf("redis=%v: %s: %+v, %v", redis, key, f, err)
			}
			own := names(f.Own, func(l limit.Standing) string { return fmt.Sprint(l.Name(), " ", l.Used, " of ", l.Limit) })
			if got := fmt.Sprint(own, "; ", f.Days[len(f.Days)-1].Used[limit.Tokens]); got != want ||
				key == one && f.Days[len(f.Days)-1].Estimated[limit.Tokens] != 10 {
				t.Errorf("redis=%v: %s: %s, want %s", redis, key, got, want)
			}
		}
		if f, err := s.figures.Key(t.Context(), access.Person{Role: access.Member, Teams: []string{"shop"}}, "search", one); !errors.Is(err,
			ErrAbsent) || f.Days != nil {
			t.Errorf("redis=%v: a member of another team gets %+v, %v", redis, f, err)
		}
	}
}
