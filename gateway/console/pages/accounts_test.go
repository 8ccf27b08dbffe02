package pages_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

func (g galleryFigures) AccountList(_ context.Context, p access.Person) (figures.AccountList, error) {
	if !p.SeesAll() {
		return figures.AccountList{}, figures.ErrAbsent
	}
	list := g.accounts
	list.At = noon
	for _, a := range list.Accounts {
		list.Today, list.Month = list.Today.Plus(a.Today), list.Month.Plus(a.Month)
	}
	return list, nil
}

// oneAccount is what a gateway without an accounts file has.
func oneAccount() figures.AccountList {
	return figures.AccountList{Accounts: []figures.AccountLine{{
		Standing: account.Standing{ID: "main", Address: "https://service.example/api/v1", Key: "…4f2a", State: account.OK, Weight: 1,
			InFlight: 2}, Today: use(310), Month: use(8200),
	}}}
}

// someAccounts are in distress: of each state one, and everything that an account can have.
func someAccounts(model string) figures.AccountList {
	list := oneAccount()
	list.Accounts[0].Standing.Limits = []teams.AccountLimit{
		{Models: []policy.Pattern{"llm-*"}, Rates: []teams.Rate{{Unit: unit.NameRequests, Per: time.Minute, PerText: "1m", Limit: 1200,
			Burst: 1200},
			{Unit: unit.NameTokens, Per: time.Minute, PerText: "1m", Limit: 1_000_000, Burst: 2_000_000}}},
		{Models: []policy.Pattern{"gen2.6-*"}, Rates: []teams.Rate{
			{Unit: unit.NameRequests, Per: time.Second, PerText: "1s", Limit: 5, Burst: 5}}},
	}
	list.Accounts[0].Standing.Weight, list.Accounts[0].Standing.InFlight = 3, 41
	list.Accounts[0].Quotas = []limit.Standing{
		{Unit: unit.NameSpend, Period: teams.PeriodMonth, Per: "month", Limit: 20_000 * teams.Nano, Used: 17_311_123_456_789,
			Held: 4 * teams.Nano, Left: 2_684_876_543_211},
		{Unit: unit.NameImages, Period: teams.PeriodDay, Per: "day", Limit: 500, Used: 500},
	}
	list.Accounts = append(list.Accounts,
		figures.AccountLine{
			Standing: account.Standing{
				ID: "singapore", Region: "ap-southeast", Address: "https://ap-southeast.service.example/api/v1", Key: "…91bc", State: account.Cooling,
				Why: "Throttling.RateQuota", Since: noon.Add(-8 * time.Second),
				Cooling: []account.Rest{{Model: "gen2.6-image", Until: noon.Add(12 * time.Second)}, {Model: model, Until: noon.Add(52 * time.Second)}},
				Weight:  1, InFlight: 5, Failovers: map[string]int64{"throttled": 1204, "unreachable": 3},
				Limits: []teams.AccountLimit{{Rates: []teams.Rate{{Unit: unit.NameRequests, Per: time.Minute, PerText: "1m", Limit: 300, Burst: 60}}}},
			},
			Today: use(95), Month: use(1400),
		},
		figures.AccountLine{
			Standing: account.Standing{
				ID: "spare", Region: "cn-north", Address: "https://service.example/api/v1", Key: "…77d0", State: account.Out, Why: "Arrearage",
				Since: noon.Add(-19 * time.Minute), Weight: 1, Failovers: map[string]int64{"refused": 8},
			},
			Month: use(70),
		},
		figures.AccountLine{Standing: account.Standing{ID: "an-account-with-a-very-long-name-that-goes-on-to-sixty-three-cha",
			Address: "https://service.example/api/v1", Key: "…c0de", State: account.Draining, InFlight: 1}, Today: use(2), Month: use(5200)},
		figures.AccountLine{Standing: account.Standing{ID: "old", State: figures.Removed}, Month: use(12)},
	)
	return list
}

// What an operator needs stands on the page: each state in words, why, until when, what may be used and was; the sums lead to their rows.
func TestAccountsPage(t *testing.T) {
	g := day(12)
	w := get(t, g.handler(operator), "/accounts")
	body := strings.Join(strings.Fields(textOf(parse(t, w))), " ")
	for _, want := range []string{
		"singapore is cooling: the service refuses it new work for 2 models. It answered Throttling.RateQuota, since 22 Nov 12:34:48",
		"spare is out: the service refuses all its work. It answered Arrearage",
		"gen2.6-image until 22 Nov 12:35:08 UTC, llm-max until 22 Nov 12:35:48 UTC", "gen2.6-*: 5 requests per 1s",
		"all models: 300 requests per 1m, burst 60",
		"llm-*: 1,200 requests per 1m; 1,000,000 tokens per 1m, burst 2,000,000", "1,204 throttled, 3 unreachable", "8 refused",
		"cn-north, https://service.example/api/v1, key …77d0",
		"removed", "Write it again with weight 0", "draining", "Spend this month", "17,311.12 of 20,000.00 CNY, 4.00 held", "5 accounts",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q:\n%s", want, body)
		}
	}
	for _, link := range []string{"/money?by=account&amp;from=2026-11-22&amp;to=2026-11-22",
		"/money?by=account&amp;from=2026-11-01&amp;to=2026-11-22"} {
		if !strings.Contains(w.Body.String(), link) {
			t.Errorf("no link to %s", link)
		}
	}
	if w := get(t, g.handler(access.Person{Role: access.Member, Teams: []string{"search"}}), "/accounts"); w.Code != http.StatusForbidden ||
		strings.Contains(w.Body.String(), "singapore") || strings.Contains(w.Body.String(), `href="/accounts"`) {
		t.Errorf("a member gets %d %s", w.Code, w.Body)
	}
	if w := get(t, little().handler(operator), "/accounts"); !strings.Contains(w.Body.String(), "No account is out or cooling") ||
		strings.Contains(w.Body.String(), "faults") {
		t.Errorf("one account that is well: %s", w.Body)
	}
	if w := get(t, empty().handler(operator), "/accounts"); !strings.Contains(w.Body.String(), "SLUICE_ACCOUNTS_FILE") {
		t.Errorf("without an account: %s", w.Body)
	}
}

// While the ledger is away, the states are shown, and the use is not shown as nothing.
func TestAccountsPageWithoutUse(t *testing.T) {
	g := day(12)
	g.accounts.Unread = errors.New("secret: refused")
	body := get(t, g.handler(operator), "/accounts").Body.String()
	if !strings.Contains(body, "What was used is not known") || !strings.Contains(body, "Throttling.RateQuota") ||
		strings.Contains(body, "secret") || strings.Contains(body, "/money?") {
		t.Error(body)
	}
}
