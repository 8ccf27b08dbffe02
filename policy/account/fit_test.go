package account_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/account"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

const fitAccounts = `
accounts:
  - {id: text, key_file: a, models: ["llm-*"]}
  - {id: images, key_file: b, models: ["gen2.6-*"], region: eu}
  - {id: own, key_file: c, teams: [ads], models: [llm-max]}
`

func TestFit(t *testing.T) {
	for _, c := range []struct {
		about, accounts, teams string
		faults, unknown        []string
	}{
		{about: "all fits", teams: `{teams: [{id: search, models: ["llm-*", "gen2.6-image", "*-max"]}, {id: ads, models: [llm-max]}],
			prices: [{model: "*", image: 1}, {model: "llm-*", image: 1}], catalogue: [llm-plus], aliases: {big: llm-max}}`},
		{
			about: "models that no account of the team serves",
			teams: `{teams: [{id: search, models: ["llm-*", "text-*", code]}, {id: ads, models: ["llm-*", llm-plus]}, {id: off, disabled: true,` +
				` models: [code]}]}`,
			faults: []string{
				"team search may use code, which no account of it serves, allowed: a model that is among the models of its accounts",
				"team search may use text-*, which no account of it serves, allowed: a model that is among the models of its accounts",
				"team ads may use llm-plus, which no account of it serves, allowed: a model that is among the models of its accounts",
			},
		},
		{
			about: "a key's model", teams: `{teams: [{id: ads}, {id: search, keys: [{id: aaaaaaaaaaaa,
				sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, models: [code]}]}]}`,
			faults: []string{"team search may use code, which no account of it serves, allowed: a model that is among the models of its accounts"},
		},
		{
			about: "models of the file that no account serves",
			teams: `{teams: [{id: ads}], prices: [{model: "text-*", image: 1}], catalogue: [llm-plus, code], aliases: {big: llm-max, other: code}}`,
			faults: []string{
				"aliases.other: no account serves code, allowed: a model that is among the models of an account",
				"catalogue[1]: no account serves code, allowed: a model that is among the models of an account",
				"prices[0].model: no account serves text-*, allowed: a model that is among the models of an account",
			},
		},
		{
			about: "regions", teams: `{teams: [{id: search, regions: [eu]}, {id: ads, regions: [eu, us]}]}`,
			faults: []string{"team ads has no account: none that serves it is in eu or us, allowed: an account that serves the team"},
		},
		{
			about: "a team without an account", accounts: `{accounts: [{id: own, key_file: c, teams: [ads]}]}`,
			teams:  `{teams: [{id: search}, {id: ads}]}`,
			faults: []string{"team search has no account: every account names other teams, allowed: an account that serves the team"},
		},
		{
			about: "rates in both files", accounts: `{accounts: [{id: a, key_file: a, rates: [{requests: {per: 1s, limit: 5}}]}]}`,
			teams:  `{teams: [], account: [{requests: {per: 1s, limit: 5}}]}`,
			faults: []string{"account: the account has rates in the teams file and in the accounts file, allowed: only in the accounts file"},
		},
		{
			about: "rates in one file", accounts: `{accounts: [{id: a, key_file: a, rates: [{requests: {per: 1s, limit: 5}}]}]}`,
			teams: `{teams: []}`,
		},
		{
			about: "unknown teams", teams: `{teams: [{id: search}]}`,
			accounts: `{accounts: [{id: a, key_file: a}, {id: b, key_file: b, teams: [serach, shop]}]}`,
			unknown: []string{
				"accounts[1].teams[0]: no team is called serach (meant search?), allowed: the ids of teams",
				"accounts[1].teams[1]: no team is called shop, allowed: the ids of teams",
			},
		},
	} {
		t.Run(c.about, func(t *testing.T) {
			if c.accounts == "" {
				c.accounts = fitAccounts
			}
			accounts, err := teams.ParseAccounts([]byte(c.accounts))
			if err != nil {
				t.Fatal(err)
			}
			file, err := teams.Parse([]byte(c.teams))
			if err != nil {
				t.Fatal(err)
			}
			faults, unknown := account.Fit(accounts, file)
			if diff := cmp.Diff(c.faults, lines(faults)); diff != "" {
				t.Errorf("faults (- want, + got):\n%s", diff)
			}
			if diff := cmp.Diff(c.unknown, lines(unknown)); diff != "" {
				t.Errorf("unknown teams (- want, + got):\n%s", diff)
			}
		})
	}
}

func lines(faults strictyaml.Faults) (all []string) {
	for _, f := range faults {
		all = append(all, f.String())
	}
	return all
}

// Without an accounts file the teams file's rates are the account's, and all that can be missing is a region.
func TestFitWithoutAccountsFile(t *testing.T) {
	file, err := teams.Parse([]byte(`{teams: [{id: search, models: [code]}, {id: ads, regions: [eu]}], account: [{requests: {per: 1s,` +
		` limit: 5}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	faults, unknown := account.Fit(teams.MainAccounts(nil, file.Account), file)
	want := []string{"team ads has no account: none that serves it is in eu, allowed: an account that serves the team"}
	if diff := cmp.Diff(want, lines(faults)); diff != "" || unknown != nil {
		t.Errorf("unknown %v; faults (- want, + got):\n%s", unknown, diff)
	}
}

// What no account but one that drains serves gets a warning: it may be meant.
func TestDrained(t *testing.T) {
	accounts, err := teams.ParseAccounts([]byte(`
accounts:
  - {id: text, key_file: a, models: ["llm-*"]}
  - {id: images, key_file: b, models: ["gen2.6-*", "*-max"], weight: 0}
  - {id: own, key_file: c, teams: [ads, off], weight: 0}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		about, teams string
		want         []string
	}{
		{about: "nothing", teams: `{teams: [{id: search, models: ["llm-*", llm-max]}], catalogue: [llm-max]}`},
		{about: "all that a team's account serves", teams: `{teams: [{id: search}, {id: ads}, {id: off, disabled: true}]}`, want: []string{
			"team ads gets no new work, because each account that serves it has weight 0",
		}},
		{about: "a model", teams: `{teams: [{id: search, models: ["gen2.6-image", llm-max, code, big]}], aliases: {big: text-max}}`,
			want: []string{
				"team search gets no new work with big, because each of its accounts that serves that has weight 0",
				"team search gets no new work with gen2.6-image, because each of its accounts that serves that has weight 0",
				"aliases.big: text-max gets no new work, because each account that serves it has weight 0",
			}},
		{about: "models of the file", teams: `{teams: [{id: search}], catalogue: [llm-plus, gen2.6-image], prices: [{model: "gen2.6-*",` +
			` image: 1}]}`, want: []string{
			"catalogue[1]: gen2.6-image gets no new work, because each account that serves it has weight 0",
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			file, err := teams.Parse([]byte(c.teams))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, account.Warnings(accounts, file)); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

// An account with a quota of spend does not serve models without a price: a warning names those that may have none.
func TestAnAccountThatServesNoModelWithoutAPrice(t *testing.T) {
	accounts, err := teams.ParseAccounts([]byte(`
accounts:
  - {id: all, key_file: a, quotas: {spend: {month: 1}}}
  - {id: some, key_file: b, models: ["llm-*", code], quotas: {spend: {day: 1}}}
  - {id: none, key_file: c, quotas: {images: {day: 1}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	file, err := teams.Parse([]byte(`{currency: CNY, teams: [], prices: [{model: "llm-*", input_per_million: 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"account all has a spend quota and no single price covers *: it does not serve models without a price",
		"account some has a spend quota and no single price covers code: it does not serve models without a price",
	}
	if diff := cmp.Diff(want, account.Warnings(accounts, file)); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	if file, err = teams.Parse([]byte(`{currency: CNY, teams: [], prices: [{model: "*", input_per_million: 1}]}`)); err != nil {
		t.Fatal(err)
	}
	want = []string{"account all has a spend quota and no single price of images covers *: it does not serve models without a price"}
	if diff := cmp.Diff(want, account.Warnings(accounts, file)); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}
