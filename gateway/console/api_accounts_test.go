package console

import (
	"errors"
	"net/http"
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

// spareAccount is in distress, and has everything that an account can have.
var spareAccount = figures.AccountLine{
	Standing: account.Standing{
		ID: "spare", Region: "cn-north", Address: "https://service.example/api/v1", Key: "…f00d", State: account.Cooling,
		Why: "Throttling.RateQuota", Since: noon,
		Cooling: []account.Rest{{Model: "llm-max", Until: noon.Add(7 * time.Second)}}, Weight: 3, InFlight: 2,
		Failovers: map[string]int64{"throttled": 9},
		Limits: []teams.AccountLimit{
			{Models: []policy.Pattern{"gen2.6-*"}, Rates: []teams.Rate{
				{Unit: unit.NameRequests, Per: time.Second, PerText: "1s", Limit: 5, Burst: 10}}},
			{Rates: []teams.Rate{{Unit: unit.NameTokens, Per: time.Minute, PerText: "1m", Limit: 9000, Burst: 9000}}},
		},
	},
	Today: figures.Use{Used: limit.Amounts{1, 20, 0, 300_000_000}}, Month: figures.Use{Used: limit.Amounts{4, 50, 6, 7 * teams.Nano}},
	Quotas: []limit.Standing{{Unit: unit.NameSpend, Period: teams.PeriodMonth, Limit: 20_000 * teams.Nano, Used: 7 * teams.Nano,
		Held: 500_000_000}},
}

const spareText = `{"id":"spare","region":"cn-north","url":"https://service.example/api/v1","key":"…f00d","state":"cooling",` +
	`"why":"Throttling.RateQuota",` +
	`"since":"2026-11-22T12:00:00Z","cooling":[{"model":"llm-max","until":"2026-11-22T12:00:07Z"}],"weight":3,"in_flight":2,` +
	`"failovers":{"throttled":9},` +
	`"rates":[{"models":["gen2.6-*"],"unit":"requests","per":"1s","limit":5,"burst":10},{"models":null,"unit":"tokens","per":"1m",` +
	`"limit":9000,"burst":9000}],` +
	`"quotas":[{"unit":"spend","period":"month","limit":20000,"used":7,"held":0.5}],` +
	`"today":{"requests":1,"tokens":20,"images":0,"spend":0.3},"month":{"requests":4,"tokens":50,"images":6,"spend":7}}`

// An account in the API has its state, what it may do and what was used of it; lists are never null, and use that cannot be read is.
func TestAPIAccounts(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name string
		list figures.AccountList
		want string
	}{
		{"none", figures.AccountList{}, ``},
		{"one in distress", figures.AccountList{Accounts: []figures.AccountLine{spareAccount}}, spareText},
		{"a removed one, and the ledger is away", figures.AccountList{
			Accounts: []figures.AccountLine{{Standing: account.Standing{ID: "gone", State: figures.Removed}}}, Unread: errors.New("away")},
			`{"id":"gone","region":"","url":"","key":"","state":"removed","why":"","since":null,"cooling":[],"weight":0,"in_flight":0,` +
				`"failovers":{},"rates":[],"quotas":[],"today":null,"month":null}`},
	} {
		w.traffic.accounts = tt.list
		for _, who := range []string{"operator", "viewer"} {
			a := w.expect(map[string]access.Actor{"operator": operator, "viewer": viewer}[who], "GET /accounts", "", http.StatusOK, "")
			if want := `{"data":[` + tt.want + `],"next":null}` + "\n"; a.body != want {
				t.Errorf("%s: the %s gets\n%swant\n%s", tt.name, who, a.body, want)
			}
		}
	}
	w.expect(member, "GET /accounts", "", http.StatusForbidden, "forbidden")
	w.expect(stranger, "GET /accounts", "", http.StatusUnauthorized, "login")
	w.expect(operator, "GET /accounts?team=maps", "", http.StatusBadRequest, "invalid query")
	w.expect(operator, "POST /accounts", "{}", http.StatusMethodNotAllowed, "method")
	w.traffic.err = errors.New("away")
	w.expect(operator, "GET /accounts", "", http.StatusServiceUnavailable, "away")
}
