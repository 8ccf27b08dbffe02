package redisstore

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// onAccounts is what the ledger has of each account, and of that the estimated part.
func (f *form) onAccounts() map[string][2]int64 {
	got := map[string][2]int64{}
	for _, row := range f.rows() {
		if n := row.Used[limit.Images]; row.Model != "" && (n != 0 || row.Estimated[limit.Images] != 0) {
			got[row.Account] = [2]int64{got[row.Account][0] + n, got[row.Account][1] + row.Estimated[limit.Images]}
		}
	}
	return got
}

// A request is charged on the account on which it ran last, also if its lease ended meanwhile. An entry of main has no account: entries
// from before there were accounts are its own.
func TestARequestIsChargedWhereItRanLast(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to string
		late     bool // the state hears of the move with the settlement
		ends     bool // the lease, before that
		settles  bool
		want     map[string][2]int64
	}{
		"it stays on main":                  {"", "", false, false, true, map[string][2]int64{"": {2, 0}}},
		"main is written without a name":    {teams.MainAccount, teams.MainAccount, false, false, true, map[string][2]int64{"": {2, 0}}},
		"it stays on another":               {"eu", "eu", false, false, true, map[string][2]int64{"eu": {2, 0}}},
		"it moves":                          {"eu", "us-1", false, false, true, map[string][2]int64{"us-1": {2, 0}}},
		"it moves from main":                {"", "eu", false, false, true, map[string][2]int64{"eu": {2, 0}}},
		"it moves to main":                  {"eu", "", false, false, true, map[string][2]int64{"": {2, 0}}},
		"the settlement tells":              {"eu", "us-1", true, false, true, map[string][2]int64{"us-1": {2, 0}}},
		"its lease ends behind the move":    {"eu", "us-1", false, true, false, map[string][2]int64{"us-1": {4, 4}}},
		"its lease ends, then it settles":   {"eu", "us-1", false, true, true, map[string][2]int64{"us-1": {2, 0}}},
		"its lease ends before the move":    {"eu", "us-1", true, true, false, map[string][2]int64{"eu": {4, 4}}},
		"the truth names another than main": {"", "us-1", true, true, true, map[string][2]int64{"us-1": {2, 0}}},
		"the truth names main":              {"eu", "", true, true, true, map[string][2]int64{"": {2, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			forms(t, func(f *form) {
				team := limittest.Team(f, "tag_key: project\n    tag_quotas: {images: {day: 9}}"+keyLines(", quotas: {images: {day: 9}}", ""))
				h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
				h.Account, h.Tag, h.Key = tt.from, "alpha", keyOne
				f.admit(h)
				held := f.held(h)
				if held.Account = tt.to; !tt.late {
					f.move(held)
				}
				if tt.ends {
					f.clock.Move(2 * time.Hour)
					f.sweep("search")
				}
				if tt.settles && !f.settle(held, team, limit.Amounts{limit.Requests: 1, limit.Images: 2}, false) {
					f.Error("not settled")
				}
				if got := f.onAccounts(); !maps.Equal(got, tt.want) {
					f.Errorf("the ledger has %v, want %v", got, tt.want)
				}
				var sum int64
				for _, n := range tt.want {
					sum += n[0]
				}
				for _, k := range inside {
					if list := f.lookInside(team, k); len(list) != 1 || list[0].Held != 0 || list[0].Used != sum {
						f.Errorf("by %s: %+v", k, list)
					}
				}
			})
		})
	}
}

// By account, the rows of all models are added up, and each names its account.
func TestTheLedgerByAccount(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f)
		for n, account := range []string{"", "eu", "eu", "main"} {
			h := hold(id(n), team, limit.Amounts{limit.Images: 4})
			h.Account, h.Model = account, fmt.Sprint("model@a|b#", n%2)
			f.admit(h)
			held := f.held(h)
			held.Account = account
			f.settle(held, team, limit.Amounts{limit.Images: int64(n) + 1}, n == 1)
		}
		days, _ := limit.Days("2026-11-21", "2026-11-21")
		q := limit.Query{Teams: []string{"search"}, Days: days, By: limit.ScopeAccount}
		var rows []limit.Row
		var err error
		if f.memory != nil {
			rows, err = f.memory.Rows(f.Context(), q)
		} else {
			rows, err = f.redis.Rows(f.Context(), q)
		}
		if err != nil || len(rows) != 2 {
			f.Fatalf("%+v, %v", rows, err)
		}
		for i, want := range []limit.Row{
			{Team: "search", Day: 20261121, Account: "eu", Used: limit.Amounts{limit.Images: 5}, Estimated: limit.Amounts{limit.Images: 2}},
			{Team: "search", Day: 20261121, Account: "main", Used: limit.Amounts{limit.Images: 5}},
		} {
			if rows[i] != want {
				f.Errorf("%+v, want %+v", rows[i], want)
			}
		}
		if got := f.onAccounts(); got["eu"][0] != 5 || got[""][0] != 5 {
			f.Errorf("%v", got)
		}
	})
}

// A hold's text names its account behind the team, where scripts from before there were accounts keep it and do not read it: they charge
// the hold, its tag and its key, on main.
func TestTextsOfHoldsNameTheirAccounts(t *testing.T) {
	for account, want := range map[string]string{"": "search/@k", "main": "search/@k", "eu": "search@eu/@k"} {
		h := &limit.Held{ID: "a", Team: "search", Account: account, Model: "m", Endpoint: "text", Key: limit.InnerOf("k", true), Tag: "t",
			Amounts: limit.Amounts{1, 2, 3, 4}, Day: 20261121, Month: 202611}
		if text := heldText(h, 1); text != "held 0 0 1 20261121 202611 1 2 3 4 0 0 0 0 a "+want+" m|text#t" {
			t.Errorf("%q: %s", account, text)
		}
		at, day, amounts, ok := readHeld(heldText(h, 1))
		if !ok || limit.AccountMark(at) != limit.AccountMark(account) || day != h.Day || amounts != h.Amounts {
			t.Errorf("%q: read %s, %d, %v, %v", account, at, day, amounts, ok)
		}
	}
	for _, text := range []string{"", "1", "expired 0 0 1 20261121 202611 1 2 3 4 0 0 0 0 a search m|text",
		"held 0 0 1 day 202611 1 2 3 4 0 0 0 0 a search m|text"} {
		if _, _, _, ok := readHeld(text); ok {
			t.Errorf("%q holds nothing", text)
		}
	}
}

// Scripts of the version before settle, sweep and extend holds on other accounts, as if they were main's: nothing is lost.
func TestScriptsOfTheVersionBeforeChargeMain(t *testing.T) {
	client := limittest.RealRedis(t)
	f := newRedisForm(t, client)
	team := limittest.Team(f, "tag_key: project\n    tag_quotas: {images: {day: 9}}")
	h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Account, h.Tag = "eu", "alpha"
	f.admit(h)
	before := sweepScript
	defer func() { sweepScript = before }()
	old := accountLess(t, sweepScript.source)
	sweepScript = scriptOf(old)
	f.clock.Move(2 * time.Hour)
	f.sweep("search")
	if got, want := f.onAccounts(), map[string][2]int64{"": {4, 4}}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if list := f.lookTags(team); len(list) != 1 || list[0].Used != 4 || list[0].Held != 0 {
		t.Errorf("%+v", list)
	}
	held := f.held(h)
	held.Account = "eu"
	f.settle(held, team, limit.Amounts{limit.Requests: 1, limit.Images: 3}, false)
	var sum int64
	for _, n := range f.onAccounts() {
		sum += n[0]
	}
	if sum != 3 {
		t.Errorf("all rows have %d images, want 3", sum)
	}
}

// accountLess is a script as it was before there were accounts.
func accountLess(t *testing.T, source string) string {
	t.Helper()
	const now, then = "return entry .. account_of(team), scopes", "return entry, scopes"
	old := strings.Replace(source, now, then, 1)
	if old == source {
		t.Fatalf("the script lacks %q", now)
	}
	return old
}

// Whatever a client calls a model or a key, the text of a hold has its account, and an entry of the ledger, too.
func TestNamesDoNotHideAccounts(t *testing.T) {
	name := rapid.StringOfN(rapid.RuneFrom([]rune("a@|#/:*ü-")), 1, 20, -1)
	rapid.Check(t, func(rt *rapid.T) {
		h := &limit.Held{
			ID: "a", Team: rapid.SampledFrom([]string{"search", "a-b", teams.HouseID}).Draw(rt, "team"), Model: name.Draw(rt, "model"),
			Endpoint: "text",
			Key:      limit.InnerOf(name.Draw(rt, "key"), rapid.Bool().Draw(rt, "counted")), Amounts: limit.Amounts{1, 2, 3, 4}, Day: 20261121,
			Month: 202611,
		}
		if h.Team != teams.HouseID {
			h.Account = rapid.SampledFrom([]string{"", "eu", "us-1"}).Draw(rt, "account")
		}
		at, _, _, ok := readHeld(heldText(h, 1))
		if want := cmp.Or(h.Account, teams.MainAccount); h.Team != teams.HouseID && (!ok || at != want) {
			rt.Fatalf("%s is on %q", heldText(h, 1), at)
		}
		var all reading
		scan := &dayScan{team: &team{teamKeys: keysOf("search")}, day: 20261121}
		all.readField(scan, limit.LedgerName(h.Model, h.Endpoint, h.Account)+"|tokens", "7")
		if len(scan.rows) != 1 || scan.rows[0].Model != h.Model || scan.rows[0].Endpoint != h.Endpoint || scan.rows[0].Account != h.Account {
			rt.Fatalf("%+v of %+v", scan.rows, h)
		}
	})
}

func FuzzReadHeld(f *testing.F) {
	f.Add("held 0 0 1 20261121 202611 1 2 3 4 0 0 0 0 a search@eu/@k m|text#t")
	f.Fuzz(func(t *testing.T, text string) {
		if at, _, _, ok := readHeld(text); ok && at == "" {
			t.Errorf("%q is on no account", text)
		}
	})
}
