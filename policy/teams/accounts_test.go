package teams_test

import (
	"strings"
	"testing"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

func TestAccountsOfATeam(t *testing.T) {
	accounts, err := teams.ParseAccounts([]byte(`
accounts:
  - {id: main, key_file: a, region: eu}
  - {id: spare, key_file: b, weight: 0}
  - {id: ads, key_file: c, teams: [ads, shop], region: us}
  - {id: shop, key_file: d, teams: [shop], region: eu}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		team    teams.Team
		serving string
	}{
		{teams.Team{ID: "search"}, "main spare"},
		{teams.Team{ID: "search", Regions: []string{"eu", "us"}}, "main"},
		{teams.Team{ID: "search", Regions: []string{"us"}}, ""},
		{teams.Team{ID: "ads"}, "ads"},
		{teams.Team{ID: "ads", Regions: []string{"eu"}}, ""},
		{teams.Team{ID: "shop"}, "ads shop"},
		{teams.Team{ID: "shop", Regions: []string{"eu"}}, "shop"},
	} {
		var ids []string
		for _, a := range accounts.For(&tt.team) {
			ids = append(ids, a.ID)
		}
		if got := strings.Join(ids, " "); got != tt.serving {
			t.Errorf("%s in %q is served by %q, want %q", tt.team.ID, tt.team.Regions, got, tt.serving)
		}
	}
	if a := accounts.Account("shop"); a == nil || a.ID != "shop" || accounts.Account("none") != nil {
		t.Errorf("account shop is %v, none is %v", a, accounts.Account("none"))
	}
}

// Without a file there is the one account of the settings, which serves everything but teams that name regions.
func TestNoAccountsFile(t *testing.T) {
	limits := []teams.AccountLimit{{Rates: []teams.Rate{{Unit: unit.NameRequests}}}}
	accounts := teams.MainAccounts(nil, limits)
	main := accounts.Account(teams.MainAccount)
	if !accounts.NoFile || main.Weight != 1 || len(main.Limits) != 1 || !main.ServesModel("llm-max") || main.QueryRate != 0 ||
		main.Quotas != nil {
		t.Errorf("the account is %+v", main)
	}
	if n := len(accounts.For(&teams.Team{ID: "search"})); n != 1 {
		t.Errorf("a team is served by %d accounts", n)
	}
	if n := len(accounts.For(&teams.Team{ID: "search", Regions: []string{"eu"}})); n != 0 {
		t.Errorf("a team that names a region is served by %d accounts", n)
	}
}

// Quotas of accounts count in the parts of the currency that the teams file says.
func TestQuotasOfAccountsCountAsTheTeamsFileSays(t *testing.T) {
	for _, tt := range []struct {
		in     unit.Money
		amount string
		want   int64 // 0: refused
	}{
		{unit.Nanos, "1.234567891", 1_234_567_891},
		{unit.Nanos, "9007199254", 0},
		{unit.Micros, "1.234567", 1_234_567},
		{unit.Micros, "1.234567891", 0},
		{unit.Micros, "9007199254", 9_007_199_254_000_000},
	} {
		a, err := teams.ParseAccounts([]byte("accounts: [{id: eu, key_file: key, quotas: {spend: {month: " + tt.amount + "}}}]"))
		if err != nil {
			t.Fatal(err)
		}
		a.List[0].KeyFile = "/secrets/key"
		in, err := a.In(tt.in)
		switch {
		case tt.want == 0 && err == nil:
			t.Errorf("%s with %d digits is allowed", tt.amount, tt.in.Digits())
		case tt.want != 0 && err != nil:
			t.Errorf("%s with %d digits: %v", tt.amount, tt.in.Digits(), err)
		case err == nil:
			if eu := in.List[0]; eu.Quotas.Quotas[0].Limit != tt.want || eu.Quotas.Money != tt.in || eu.KeyFile != "/secrets/key" {
				t.Errorf("%s with %d digits: %+v", tt.amount, tt.in.Digits(), eu.Quotas)
			}
		}
	}
}
