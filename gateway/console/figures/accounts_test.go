package figures

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/teams"
)

// The page of accounts has each one's standing, its use today and this month, and what was used of accounts that are gone. The sums are
// those of all teams, and of today the day's.
func TestAccountList(t *testing.T) {
	for _, redis := range []bool{false, true} {
		t.Run(fmt.Sprint("Redis ", redis), func(t *testing.T) {
			s := newStand(t, redis)
			for day := range 5 {
				if day > 0 {
					s.Move(24 * time.Hour)
				}
				s.account = ""
				s.use("search", "m", policy.EndpointText, false, limit.Amounts{1, 10, 0, 100})
				s.account = "spare"
				s.use("shop", "m", policy.EndpointText, false, limit.Amounts{1, 1, 0, 1000})
				if s.account = "gone"; day < 4 {
					s.use("shop", "m", policy.EndpointText, true, limit.Amounts{1, 2, 0, 7})
				}
			}
			quotas := s.file.Team("search")
			standings := []account.Standing{{ID: "spare", State: account.Out, Why: "Arrearage", Quotas: quotas}, {ID: "main", State: account.OK},
				{ID: "idle", State: account.Draining}}
			s.figures.Standings = func() []account.Standing { return standings }
			got, err := s.figures.AccountList(t.Context(), operator)
			if err != nil || got.Unread != nil {
				t.Fatal(err, got.Unread)
			}
			if len(got.Accounts[0].Quotas) == 0 || got.Accounts[1].Quotas != nil {
				t.Errorf("quotas are %v and %v", got.Accounts[0].Quotas, got.Accounts[1].Quotas)
			}
			got.Accounts[0].Quotas = nil
			n := int64(s.Now().UTC().Day())
			n = min(n, 5)
			sum := func(days int64, a limit.Amounts) (u Use) {
				for i, x := range a {
					u.Used[i] = x * days
				}
				return u
			}
			gone := sum(n-1, limit.Amounts{1, 2, 0, 7})
			gone.Estimated = gone.Used
			want := AccountList{
				At: s.Now(),
				Accounts: []AccountLine{
					{Standing: standings[0], Today: sum(1, limit.Amounts{1, 1, 0, 1000}), Month: sum(n, limit.Amounts{1, 1, 0, 1000})},
					{Standing: standings[1], Today: sum(1, limit.Amounts{1, 10, 0, 100}), Month: sum(n, limit.Amounts{1, 10, 0, 100})},
					{Standing: standings[2]},
					{Standing: account.Standing{ID: "gone", State: Removed}, Month: gone},
				},
				Today: sum(1, limit.Amounts{2, 11, 0, 1100}), Month: gone.Plus(sum(n, limit.Amounts{2, 11, 0, 1100})),
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(teams.Team{}),
				cmp.Comparer(func(a, b *teams.Team) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
			m, err := s.figures.Money(t.Context(), operator, MoneyQuery{From: limit.DayText(price.DayOf(s.Now()))[:8] + "01",
				To: limit.DayText(price.DayOf(s.Now())), By: "account"})
			if err != nil || m.Total != want.Month || len(m.Rows) != 3 || m.Rows[0].Name != "spare" {
				t.Errorf("Money has %+v, %v", m.Rows, err)
			}
		})
	}
}

// withoutLedger has no ledger.
type withoutLedger struct {
	balances
	err error
}

func (w withoutLedger) Rows(context.Context, limit.Query) ([]limit.Row, error) { return nil, w.err }

// While the ledger is away the accounts are still shown; they are for people who see all teams.
func TestAccountsWithoutTheLedger(t *testing.T) {
	s := newStand(t, false)
	away := errors.New("away")
	s.balances = withoutLedger{s.balances, away}
	s.start()
	if got, err := s.figures.AccountList(t.Context(), operator); err != nil || len(got.Accounts) != 0 {
		t.Errorf("without accounts: %+v, %v", got, err)
	}
	s.figures.Standings = func() []account.Standing { return []account.Standing{{ID: "main", State: account.Cooling}} }
	got, err := s.figures.AccountList(t.Context(), access.Person{Role: access.Viewer})
	if err != nil || !errors.Is(got.Unread, away) || len(got.Accounts) != 1 || got.Accounts[0].State != account.Cooling {
		t.Errorf("%+v, %v", got, err)
	}
	for _, p := range []access.Person{member, {}} {
		if got, err := s.figures.AccountList(t.Context(), p); !errors.Is(err, ErrAbsent) || got.Accounts != nil {
			t.Errorf("%+v gets %+v, %v", p, got, err)
		}
	}
}

// What is wrong has the accounts that are out or cooling, behind the process's own faults.
func TestAccountsThatAreIllAreFaults(t *testing.T) {
	s := newStand(t, false)
	s.figures.Standings = func() []account.Standing {
		return []account.Standing{{ID: "a", State: account.OK}, {ID: "b", State: account.Out, Why: "Arrearage", Key: "…f00d"},
			{ID: "c", State: account.Draining}}
	}
	n, err := s.figures.Now(t.Context(), operator, false)
	want := []Fault{{Kind: "account", Subject: "b", Text: "out: Arrearage; weight 0, 0 in flight, key …f00d"},
		{Kind: "process", Subject: "redis", Text: "away"}}
	if diff := cmp.Diff(want, n.Faults); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if own, err := s.figures.Now(t.Context(), member, false); err != nil || own.Faults != nil {
		t.Errorf("a member sees %v, %v", own.Faults, err)
	}
}
