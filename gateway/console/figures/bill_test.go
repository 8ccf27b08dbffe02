package figures

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/limit"
)

// TestABillIsTheLedger of the teams that a person sees, in the order of reports.
func TestABillIsTheLedger(t *testing.T) {
	for _, redis := range []bool{false, true} {
		s := newStand(t, redis)
		for range 2 {
			s.use("shop", "m", policy.EndpointText, false, limit.Amounts{1, 10, 0, 7})
			s.use("search", "m", policy.EndpointText, true, limit.Amounts{1, 20, 0, 5})
			s.use("search", "a", policy.EndpointImage, false, limit.Amounts{1, 0, 2, 9})
			s.Move(24 * time.Hour)
		}
		days, _ := limit.Days("2026-11-20", "2026-11-22")
		for _, tt := range []struct {
			about, team, ledger string
			p                   access.Person
		}{
			{"all", "", "", operator}, {"one", "shop", "shop", operator}, {"a viewer", "", "", access.Person{Role: access.Viewer}},
			{"a member", "", "search", member}, {"nobody", "", "none", access.Person{}},
		} {
			want, err := s.balances.Rows(t.Context(), limit.Query{Teams: teamsOf(tt.ledger), Days: days})
			if err != nil {
				t.Fatal(err)
			}
			var got []limit.Row
			err = s.figures.Bill(t.Context(), tt.p, MoneyQuery{From: "2026-11-20", To: "2026-11-22", Team: tt.team}, func(rows []limit.Row) error {
				got = append(got, rows...)
				return nil
			})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil || len(got) == 0 && tt.about != "nobody" {
				t.Errorf("redis=%v, %s: %v (-ledger +bill):\n%s", redis, tt.about, err, diff)
			}
		}
		for _, q := range []MoneyQuery{{From: "2026-11-20", To: "2026-11-22", Team: "shop"}, {From: "2026-11-22", To: "2026-11-20"}} {
			if err := s.figures.Bill(t.Context(), member, q, nil); !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrQuery) {
				t.Errorf("a member, %+v: %v", q, err)
			}
		}
		full := errors.New("full")
		if err := s.figures.Bill(t.Context(), operator, MoneyQuery{From: "2026-11-20", To: "2026-11-22"},
			func([]limit.Row) error { return full }); !errors.Is(err, full) {
			t.Errorf("take's error is told as %v", err)
		}
	}
}
