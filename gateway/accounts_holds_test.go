package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// holdsOf is what is used and held of a daily quota of requests, as "used+held", of the house or of an account at the service.
func (h *harness) holdsOf(id string) string {
	h.Helper()
	report, err := h.balances.Look(h.Context(), &teams.Team{ID: id,
		Quotas: []teams.Quota{{Unit: unit.NameRequests, Period: teams.PeriodDay, Limit: 100}}})
	if err != nil {
		h.Fatal(err)
	}
	return fmt.Sprint(report.Limits[0].Used, "+", report.Limits[0].Held)
}

// allHolds are those of the house and of the accounts a, b and c.
func (h *harness) allHolds() string {
	h.Helper()
	text := "house " + h.holdsOf(teams.HouseID)
	for _, id := range []string{"a", "b", "c"} {
		text += ", " + id + " " + h.holdsOf(teams.AccountQuotasID(id))
	}
	return text
}

// awaitHolds returns once the holds are as they should be: what a move gives back is given back in the background.
func (h *harness) awaitHolds(want string) {
	h.Helper()
	limit := time.Now().Add(10 * time.Second)
	for got := h.allHolds(); got != want; got = h.allHolds() {
		if time.Now().After(limit) {
			h.Fatalf("%s, want %s", got, want)
		}
		time.Sleep(time.Millisecond)
	}
}

// A request holds something in the quotas of the account that it is on, and of no other, wherever it moves and however it ends. In the
// house it holds once. A refused request counts as a request of the last account; one whose outcome is unknown is held. The ledger names
// the account.
func TestAHoldMovesWithItsRequest(t *testing.T) {
	const quota = ", quotas: {requests: {day: 100}}"
	once := func(f simulator.Fault) simulator.Fault { f.On, f.Times = simulator.EndpointModels, 1; return f }
	throttles := once(throttled("", "1"))
	refuses := once(simulator.Fault{Error: &simulator.FaultError{Status: 401, Plain: true}})
	unpaid := once(simulator.Fault{Error: &simulator.FaultError{Code: "Arrearage"}})
	for _, tt := range []struct {
		name   string
		faults []simulator.Fault // of the first account that is asked, of the second, and so on
		asked  int
		status int
		stands string // what the last account has at the end, and the house
	}{
		{"no move", nil, 1, 200, "1+0"},
		{"one move", []simulator.Fault{throttles}, 2, 200, "1+0"},
		{"two moves", []simulator.Fault{throttles, refuses}, 3, 200, "1+0"},
		{"two other moves", []simulator.Fault{unpaid, throttles}, 3, 200, "1+0"},
		{"each refuses", []simulator.Fault{throttles, refuses, throttles}, 3, 429, "1+0"},
		{"the last refuses its key", []simulator.Fault{throttles, throttles, refuses}, 3, 502, "1+0"},
		{"a bad request after a move", []simulator.Fault{throttles, once(simulator.Fault{Error: &simulator.FaultError{Status: 400}})}, 2, 400,
			"1+0"},
		{"a lost answer after two moves", []simulator.Fault{throttles, refuses, once(simulator.Fault{Drop: "close"})}, 3, 502, "0+1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := shared(t, []string{"id: a" + quota, "id: b" + quota, "id: c" + quota}, housed("{quotas: {requests: {day: 100}}}"))
			h.sim.SetFault(tt.faults...)
			got := h.ask("POST", textPath, textBody)
			last := h.recordOf(t, got).Account
			if asked := len(h.sim.Requests()); got.status != tt.status || asked != tt.asked {
				t.Errorf("%d after %d accounts: %s", got.status, asked, got.body)
			}
			want := "house " + tt.stands
			for _, id := range []string{"a", "b", "c"} {
				if id == last {
					want += ", " + id + " " + tt.stands
				} else {
					want += ", " + id + " 0+0"
				}
			}
			h.awaitHolds(want)
			rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{day(h)}, Most: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if row.Used[limit.Requests] > 0 && row.Account != last {
					t.Errorf("the ledger has %s: %v", row.Account, row.Used)
				}
			}
		})
	}
}

// An account whose own rate or quota can never take a request is passed over. The request is refused for good if that holds for all, and
// only then: what the others say counts before.
func TestAnAccountThatCanNeverDoTheWorkIsPassedOver(t *testing.T) {
	small := []string{"rates: [{images: {per: 1s, limit: 2}}]", "quotas: {images: {day: 3}}"}
	for i, own := range small {
		t.Run(own, func(t *testing.T) {
			h, clock := shared(t, []string{"id: a, weight: 1000, " + own, "id: b"})
			if got := h.ask("POST", imagePath, ofImages(4), async...); got.status != 200 || h.served() != "b:1" {
				t.Errorf("%d %s", got.status, got.body)
			}
			h.sim.SetFault(simulator.Fault{Account: "b", Error: &simulator.FaultError{Code: "Throttling.RateQuota"}, RetryAfter: "20"})
			if got := h.ask("POST", imagePath, ofImages(4), async...); got.status != 429 || got.header.Get("Retry-After") != "20" ||
				h.served() != "b:1" {
				t.Errorf("the other one throttles: %d %v %s", got.status, got.header, got.body)
			}
			clock.move(time.Second)
			h.ask("POST", imagePath, ofImages(4), async...).wants(t, 429, "admit/account", "Throttling.RateQuota")
			clock.move(30 * time.Second)
			h.gateway.SetUpstream(accountsOf(t, "id: a, "+own, "id: b, "+small[1-i]))
			got := h.ask("POST", imagePath, ofImages(4), async...)
			got.wants(t, 400, "admit/never", "InvalidParameter")
			if got.header.Get("Sluice-Scope") != "account" || got.header.Get("Retry-After") != "" || h.served() != "" {
				t.Errorf("%v %s", got.header, got.body)
			}
		})
	}
}
