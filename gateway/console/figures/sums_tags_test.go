package figures

import (
	"context"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// TestSumsOfRestoredTags: replicas restore what each value of a tag used on the days of a month, also on days whose sums are kept.
// Those sums are made again.
func TestSumsOfRestoredTags(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ older, look bool }{
		"Redis is empty and is read before it is restored":    {look: true},
		"Redis goes back to a copy from before a late charge": {older: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := limittest.RealRedis(t)
			s := standOn(t, client)
			var err error
			if s.file, err = teams.Parse([]byte("teams: [{id: search, tag_key: project, tag_quotas: {tokens: {month: 1000}}}]")); err != nil {
				t.Fatal(err)
			}
			maintain := s.accounts.(interface {
				Maintain(ctx context.Context) error
			}).Maintain
			q := MoneyQuery{From: "2026-11-01", To: "2026-11-30", By: "tag"}
			s.Move(-15 * 24 * time.Hour)
			s.tag = "alpha"
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 5})
			late := s.admit("search", "a", 60*24*time.Hour)
			s.Move(10 * 24 * time.Hour)
			_ = maintain(t.Context())
			s.compare(t, operator, q)
			back := limittest.Copy(t, client)
			s.settle(late, false, limit.Amounts{1, 3})
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 2}) // today has what the ledger of the month lost
			s.Move(freshFor)
			s.compare(t, operator, q)
			_ = maintain(t.Context())
			client.FlushDB(t.Context())
			if tt.older {
				back()
			}
			s.Move(freshFor)
			if tt.look {
				s.compare(t, operator, q)
			}
			for range 4 {
				s.Move(time.Second)
				_ = maintain(t.Context())
			}
			s.Move(freshFor)
			s.compare(t, operator, q)
		})
	}
}
