package failover

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/unit"
)

// adjusting is a form of the accounts that takes corrections.
type adjusting interface {
	holding
	Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error)
	Open(ctx context.Context, team string) (int, error)
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}

// A correction counts in day, month and ledger, and never makes a month negative; open holds of one team are counted.
func TestAdjustAndOpen(t *testing.T) {
	holdings(t, func(t *testing.T, h holding, clock *limittest.Clock) {
		accounts, ctx, search := h.(adjusting), t.Context(), limittest.Team(t)
		for _, tt := range []struct {
			id    string
			delta int64
			want  limit.Adjustment
		}{
			{"adjust-1", 100, limit.Adjustment{Done: true, Day: 100, Month: 100}},
			{"adjust-2", -40, limit.Adjustment{Done: true, DayBefore: 100, Day: 60, MonthBefore: 100, Month: 60}},
			{"adjust-3", -61, limit.Adjustment{DayBefore: 60, Day: 60, MonthBefore: 60, Month: 60}},
			{"adjust-4", -60, limit.Adjustment{Done: true, DayBefore: 60, MonthBefore: 60}}, // all of it
			{"adjust-5", 60, limit.Adjustment{Done: true, Day: 60, Month: 60}},
		} {
			adjusts(t, accounts, tt.id, tt.delta, tt.want)
		}
		if _, memory := h.(*limit.Memory); !memory { // which loses no reply; one that is sent again counts once
			adjusts(t, accounts, "adjust-5", 60, limit.Adjustment{Done: true, DayBefore: 60, Day: 60, MonthBefore: 60, Month: 60})
		}
		today := clock.Now().UTC()
		rows, err := accounts.Rows(ctx, limit.QueryOf(search.ID, []int{today.Year()*10000 + int(today.Month())*100 + today.Day()},
			limit.ScopeTeam))
		if err != nil || len(rows) != 1 || rows[0].Model != limit.AdjustedModel || rows[0].Used[unit.Index(unit.NameTokens)] != 60 {
			t.Errorf("%+v, %v", rows, err)
		}

		open := func(want int) {
			t.Helper()
			if n, err := accounts.Open(ctx, search.ID); err != nil || n != want {
				t.Errorf("%d are open, want %d; %v", n, want, err)
			}
		}
		open(0)
		hold := limit.Hold{ID: "one", Team: search, Lease: time.Hour}
		hold.Amounts[0] = 1
		v, err := accounts.Admit(ctx, &hold)
		if err != nil || v.Held == nil {
			t.Fatalf("%+v %v", v, err)
		}
		open(1)
		if _, err := accounts.Settle(ctx, &limit.Charge{Held: v.Held, Team: search}); err != nil {
			t.Fatal(err)
		}
		open(0)
	})
}

// TestAnotherAccountsUseIsNotTakenBack: without a day, a correction of an account beside main takes back what that account used today, not
// what the team used on all of them.
func TestAnotherAccountsUseIsNotTakenBack(t *testing.T) {
	holdings(t, func(t *testing.T, h holding, _ *limittest.Clock) {
		accounts := h.(adjusting)
		adjusts(t, accounts, "adjust-0", 100, limit.Adjustment{Done: true, Day: 100, Month: 100})
		for _, tt := range []struct {
			delta int64
			want  limit.Adjustment
		}{
			{-1, limit.Adjustment{MonthBefore: 100, Month: 100}},
			{7, limit.Adjustment{Done: true, Day: 7, MonthBefore: 100, Month: 107}},
			{-8, limit.Adjustment{DayBefore: 7, Day: 7, MonthBefore: 107, Month: 107}},
			{-7, limit.Adjustment{Done: true, DayBefore: 7, MonthBefore: 107, Month: 100}},
		} {
			c := limit.Correction{ID: "eu-" + rand.Text(), Team: limittest.Team(t).ID, Unit: unit.NameTokens, Delta: tt.delta, Account: "eu",
				Why: "test"}
			got, err := accounts.Adjust(t.Context(), c)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%d: %v (-want +got):\n%s", tt.delta, err, diff)
			}
		}
	})
}

// adjusts corrects the tokens of the team, and expects a result.
func adjusts(t *testing.T, accounts adjusting, id string, delta int64, want limit.Adjustment) {
	t.Helper()
	got, err := accounts.Adjust(t.Context(), limit.Correction{ID: id, Team: limittest.Team(t).ID, Unit: unit.NameTokens, Delta: delta,
		Why: "test"})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v (-want +got):\n%s", id, err, diff)
	}
}

// TestYesterdayIsGivenBack: what is given back may be more than this day's use. The day's use is 0 then, not less, and the month's
// is what is left.
func TestYesterdayIsGivenBack(t *testing.T) {
	holdings(t, func(t *testing.T, h holding, clock *limittest.Clock) {
		accounts := h.(adjusting)
		adjusts(t, accounts, "adjust-1", 100, limit.Adjustment{Done: true, Day: 100, Month: 100})
		clock.Move(24 * time.Hour)
		adjusts(t, accounts, "adjust-2", 10, limit.Adjustment{Done: true, Day: 10, MonthBefore: 100, Month: 110})
		adjusts(t, accounts, "adjust-3", -50, limit.Adjustment{Done: true, DayBefore: 10, MonthBefore: 110, Month: 60})
		adjusts(t, accounts, "adjust-4", 5, limit.Adjustment{Done: true, Day: 5, MonthBefore: 60, Month: 65})
	})
}

// TestADayThatHasPassedIsCorrected: a named day's row of the ledger is corrected, of the account that is named, and the month that runs,
// and never today. At most what the ledger has of that day and account is taken back. What happens to the running day, and to a month that
// is over, shows the next correction.
func TestADayThatHasPassedIsCorrected(t *testing.T) {
	holdings(t, func(t *testing.T, h holding, clock *limittest.Clock) {
		accounts := h.(adjusting)
		dayOf := func(ago int) int { return limit.CalendarOf(clock.Now().AddDate(0, 0, -ago)).Day }
		adjusts(t, accounts, "adjust-0", 100, limit.Adjustment{Done: true, Day: 100, Month: 100})
		clock.Move(24 * time.Hour)
		for _, tt := range []struct {
			ago     int
			account string
			delta   int64
			want    limit.Adjustment
		}{
			{1, "", -30, limit.Adjustment{Done: true, DayBefore: 100, Day: 70, MonthBefore: 100, Month: 70}},
			{1, "eu", -1, limit.Adjustment{MonthBefore: 70, Month: 70}},
			{1, "eu", 10, limit.Adjustment{Done: true, Day: 10, MonthBefore: 70, Month: 80}},
			{1, "main", -71, limit.Adjustment{DayBefore: 70, Day: 70, MonthBefore: 80, Month: 80}},
			{40, "", 5, limit.Adjustment{Done: true, Day: 5}},
			{40, "", -6, limit.Adjustment{DayBefore: 5, Day: 5}},
			{40, "", -5, limit.Adjustment{Done: true, DayBefore: 5}},
			{1, "main", -70, limit.Adjustment{Done: true, DayBefore: 70, MonthBefore: 80, Month: 10}},
			{0, "eu", 3, limit.Adjustment{Done: true, Day: 3, MonthBefore: 10, Month: 13}},
		} {
			c := limit.Correction{ID: "past-" + rand.Text(), Team: limittest.Team(t).ID, Unit: unit.NameTokens, Delta: tt.delta, Day: dayOf(tt.ago),
				Account: tt.account, Why: "test"}
			got, err := accounts.Adjust(t.Context(), c)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%d of account %q, %d days ago: %v (-want +got):\n%s", tt.delta, tt.account, tt.ago, err, diff)
			}
		}
		adjusts(t, accounts, "adjust-1", 1, limit.Adjustment{Done: true, DayBefore: 3, Day: 4, MonthBefore: 13, Month: 14})
		rows, err := accounts.Rows(t.Context(), limit.QueryOf(limittest.Team(t).ID, []int{dayOf(40), dayOf(1), dayOf(0)}, limit.ScopeTeam))
		var got []string
		for _, r := range rows {
			if n := r.Used[limit.Tokens]; n != 0 {
				got = append(got, fmt.Sprint(r.Day == dayOf(1), " ", r.Model, " ", r.Endpoint, " ", r.Account, " ", n))
			}
		}
		want := []string{"true adjustment other eu 10", "false adjustment other  1", "false adjustment other eu 3"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
