package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/stores"
	"sluice/policy/limit"
)

// as asks for a team.
func (h *harness) as(team string) []string {
	return []string{"Authorization", "Bearer " + h.keys[team]}
}

// inTime is the answer, which has to come without a wait in turn.
func inTime(t *testing.T, answer <-chan reading) reading {
	t.Helper()
	select {
	case got := <-answer:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("it waits")
		return reading{}
	}
}

// What a team waits for at one account keeps no other team from an account that has room: neither one that may wait nor one that does not.
// At the account itself none overtakes.
func TestOneAccountsQueueKeepsNobodyFromAnother(t *testing.T) {
	const once = "rates: [{requests: {per: 50s, limit: 1}}]"
	for name, tt := range map[string]struct {
		lines  []string
		limits []string
		cools  bool
	}{
		"each team has its own, which cools": {lines: []string{"id: a, teams: [search]", "id: b, teams: [shop]"}, cools: true},
		"each team has its own, with a rate": {lines: []string{"id: a, teams: [search], " + once, "id: b, teams: [shop]"}},
		"one may use both, and one cools": {lines: []string{"id: a, region: x", "id: b, region: y"}, limits: []string{"regions: [x]"},
			cools: true},
		"one may use both, one has a rate": {lines: []string{"id: a, region: x, " + once, "id: b, region: y"}, limits: []string{"regions: [x]"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := shared(t, tt.lines, func(p *plan) { p.limits = tt.limits })
			if tt.cools {
				h.sim.SetFault(throttled("a", "50"))
			}
			h.asks(1)
			waits := h.later("POST", textPath, textBody, "Prefer", "wait=60")
			h.awaitWaiting("search", 1)
			h.served()
			for _, prefer := range []string{"wait=60", "wait=0"} {
				got := inTime(t, h.later("POST", textPath, textBody, append(h.as("shop"), "Prefer", prefer)...))
				if got.status != http.StatusOK || queueOf(got) >= 0 || h.served() != "b:1" {
					t.Errorf("%s: %d %v", prefer, got.status, got.header)
				}
			}
			got := h.ask("POST", textPath, textBody)
			got.wants(t, 429, "admit/account", "Throttling.RateQuota")
			says := "1 request waits for the rate of requests of the service's account before this one, which would fit in about "
			if tt.cools {
				says = `1 request waits for the service's account, which the service told to wait with model \"llm-max\" before this one,` +
					` which would be tried in about `
			}
			if !strings.Contains(got.body, says) {
				t.Error(got.body)
			}
			h.gateway.BeginStop()
			if got := inTime(t, waits); got.status != http.StatusServiceUnavailable || got.header.Get("Sluice-Refusal") != "serve/stopping" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A request that goes on with another account does not overtake those that wait for that account: its answer is the first account's.
func TestAFailoverOvertakesNobody(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  simulator.FaultError
		status int
	}{
		"throttled": {simulator.FaultError{Code: "Throttling"}, 429},
		"its bill":  {simulator.FaultError{Code: "Arrearage", Status: 400}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			h, clock := shared(t, []string{"id: a, region: x, weight: 1000", "id: b, region: y, rates: [{requests: {per: 50s, limit: 1}}]"},
				func(p *plan) {
					p.limits = []string{"regions: [y]"}
				})
			h.sim.SetFault(simulator.Fault{Account: "a", On: simulator.EndpointModels, Error: &tt.fault})
			h.asks(1)
			waits := h.later("POST", textPath, textBody, "Prefer", "wait=60")
			h.awaitWaiting("search", 1)
			h.served()
			clock.move(time.Minute) // b has room, which is for the one that waits
			got := h.ask("POST", textPath, textBody, h.as("shop")...)
			if asked := h.served(); got.status != tt.status || asked != "a:1" || h.standing("b").InFlight != 0 {
				t.Errorf("%d %s, asked %s", got.status, got.body, asked)
			}
			h.gateway.BeginStop()
			inTime(t, waits)
		})
	}
}

// A request waits for the first of its accounts that has room: for a rate, or for the end of a pause, after which it probes.
func TestARequestWaitsForAnyOfItsAccounts(t *testing.T) {
	parallel(t)
	for name, tt := range map[string]struct {
		lines []string
		first int // requests before
		pause string
		asked string
	}{
		"a rate, while the other cools":    {[]string{"id: a, rates: [{requests: {per: 2s, limit: 1}}], weight: 1000", "id: b"}, 2, "50", "a:1"},
		"a pause, while the other is full": {[]string{"id: a, rates: [{requests: {per: 50s, limit: 1}}], weight: 1000", "id: b"}, 2, "2", "b:1"},
		"the shorter of two rates": {[]string{"id: a, rates: [{requests: {per: 2s, limit: 1}}]",
			"id: b, rates: [{requests: {per: 50s, limit: 1}}]"}, 2, "", "a:1"},
		"a pause of the only one": {[]string{"id: a, weight: 0", "id: b"}, 1, "2", "b:1"},
	} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			h, clock := shared(t, tt.lines)
			if tt.pause != "" {
				h.sim.SetFault(throttled("b", tt.pause))
			}
			h.asks(tt.first)
			h.sim.SetFault()
			h.served()
			waits := h.later("POST", textPath, textBody, "Prefer", "wait=40")
			h.awaitWaiting("search", 1)
			clock.move(3 * time.Second)
			if got := inTime(t, waits); got.status != http.StatusOK || queueOf(got) < 1 || h.served() != tt.asked {
				t.Errorf("%d %v", got.status, got.header)
			}
		})
	}
}

// Who waits for one account's rate passes by another one as soon as that works again.
func TestAnAccountThatComesBackIsTakenAtOnce(t *testing.T) {
	lines := []string{"id: a, rates: [{requests: {per: 50s, limit: 1}}]", "id: b"}
	h, _ := shared(t, lines)
	h.sim.SetKeys("b", "x")
	for len(h.sim.Requests()) < 2 { // one at each: a has no room then, and b is out
		h.asks(1)
	}
	h.served()
	waits := h.later("POST", textPath, textBody, "Prefer", "wait=60")
	h.awaitWaiting("search", 1)
	newer := accountsOf(t, lines...)
	newer.Keys["b"] = "sk-canary-newer-0123456789abc"
	h.sim.SetKeys("b", newer.Keys["b"].Reveal())
	h.gateway.SetUpstream(newer)
	if got := inTime(t, waits); got.status != http.StatusOK || h.served() != "b:1" {
		t.Errorf("%+v", got)
	}
}

// What time alone helps with is waited for, although a quota of another account is said to have room earlier; a refusal names the shorter
// wait.
func TestAQuotaHidesNoRate(t *testing.T) {
	h, _ := shared(t, []string{"id: a, weight: 1000, quotas: {requests: {day: 1}}", "id: b, rates: [{requests: {per: 40s, limit: 1}}]"})
	h.sim.SetFault(simulator.Fault{Account: "a", On: simulator.EndpointModels, Stall: "before", Times: 1})
	first := h.later("POST", textPath, textBody)
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.asks(1) // b's rate
	got := h.ask("POST", textPath, textBody, "Prefer", "wait=20")
	got.wants(t, 429, "admit/account", "Throttling.RateQuota")
	if after := got.header.Get("Retry-After"); len(after) != 1 || !strings.Contains(got.body, "quota requests-day") {
		t.Errorf("Retry-After %s: %s", after, got.body)
	}
	waits := h.later("POST", textPath, textBody, "Prefer", "wait=60")
	h.awaitWaiting("search", 1)
	h.gateway.BeginStop()
	inTime(t, waits)
	h.sim.Release()
	<-first
}

// unsure are accounts of which it is not known for some whether they have room, as without Redis.
type unsure struct {
	stores.Balances
	of string // ids
}

func (u unsure) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if strings.Contains(u.of, h.Account) {
		return limit.Verdict{}, limit.ErrAway
	}
	return u.Balances.Admit(ctx, h)
}

// An account of which it is not known whether it has room is passed over. If no other has room before it is asked again, the request is
// refused for it.
func TestAnAccountThatIsNotKnownIsPassedOver(t *testing.T) {
	for _, tt := range []struct {
		of     string
		status []int
	}{{"a", []int{200, 200, 503}}, {"ab", []int{503}}} {
		h, _ := shared(t, []string{"id: a, weight: 1000", "id: b, rates: [{requests: {per: 1m, limit: 2}}]"}, func(p *plan) {
			p.balances = unsure{limit.NewMemory(p.now), tt.of}
		})
		for _, want := range tt.status {
			got := h.ask("POST", textPath, textBody)
			if got.status != want {
				t.Errorf("%s: %d %s, want %d", tt.of, got.status, got.body, want)
			}
			if want == 503 {
				got.wants(t, 503, "admit/state", "ServiceUnavailable")
			}
		}
		for _, id := range []string{"a", "b"} {
			if n := h.standing(id).InFlight; n != 0 {
				t.Errorf("%d in flight at %s", n, id)
			}
		}
	}
}

// fragile panics where it should admit.
type fragile struct{ stores.Balances }

func (fragile) Admit(context.Context, *limit.Hold) (limit.Verdict, error) { panic("no accounts") }

// A request is not counted with an account if its admission panics, at once or in its turn.
func TestAPanicCountsNowhere(t *testing.T) {
	for _, prefer := range []string{"wait=0", "wait=30"} {
		h, _ := shared(t, []string{"id: a", "id: b"}, func(p *plan) { p.balances = fragile{limit.NewMemory(p.now)} })
		h.ask("POST", textPath, textBody, "Prefer", prefer).wants(t, 500, "observe/panic", "InternalError")
		if a, b := h.standing("a").InFlight, h.standing("b").InFlight; a+b != 0 {
			t.Errorf("%d and %d in flight", a, b)
		}
	}
}

// A model that no account serves the team with, or that an account's quota could not count, is refused as one that it may not use.
func TestAModelThatNoAccountServesIsRefused(t *testing.T) {
	for _, tt := range []struct{ line, scope string }{
		{`id: a, models: ["gen*"]`, ""}, {"id: a, teams: [shop]", ""}, {"id: a, quotas: {spend: {month: 100}}", "account"},
	} {
		h, _ := shared(t, []string{tt.line, `id: other, models: ["other-*"]`})
		for _, prefer := range []string{"wait=0", "wait=30"} {
			got := h.ask("POST", textPath, textBody, "Prefer", prefer)
			got.wants(t, 403, "inspect/model", "Model.AccessDenied")
			if got.header.Get("Sluice-Scope") != tt.scope || len(h.sim.Requests()) != 0 {
				t.Errorf("%s: %v %s", tt.line, got.header, got.body)
			}
		}
	}
}

// Each account has its own rate of cancels, as many as of queries.
func TestEachAccountHasItsRateOfCancels(t *testing.T) {
	h, _ := shared(t, []string{"id: a, query_rate: 2", "id: b, weight: 0"}, func(p *plan) { p.queryRate = 3 })
	var ids []string
	for range 4 {
		ids = append(ids, h.create(t))
	}
	h.gateway.SetUpstream(accountsOf(t, "id: a, weight: 0, query_rate: 2", "id: b"))
	for range 4 {
		ids = append(ids, h.create(t))
	}
	sent := map[bool]int{}
	for i, id := range ids {
		got := h.ask("POST", tasksPath+"/"+id+"/cancel", "")
		if got.status == http.StatusOK {
			sent[i < 4]++
			continue
		}
		got.wants(t, 429, "admit/account", "Throttling.RateQuota")
	}
	if sent[true] != 2 || sent[false] != 3 {
		t.Errorf("%d cancels were sent to a and %d to b, want 2 and 3", sent[true], sent[false])
	}
}

// A request that waits counts as running: its repetition is told so, and later gets its task.
func TestARepetitionOfWhatWaits(t *testing.T) {
	parallel(t)
	h, clock := shared(t, []string{"id: a, rates: [{requests: {per: 3s, limit: 1}}]", `id: b, models: ["other-*"]`})
	h.asks(1)
	keyed := append([]string{"Idempotency-Key", "once", "Prefer", "wait=30"}, async...)
	waits := h.later("POST", imagePath, imageBody, keyed...)
	h.awaitWaiting("search", 1)
	h.ask("POST", imagePath, imageBody, keyed...).wants(t, 409, "admit/idempotency", "InvalidParameter")
	clock.move(4 * time.Second)
	if got := inTime(t, waits); got.status != http.StatusOK || queueOf(got) < 1 {
		t.Errorf("%+v", got)
	}
	h.records.await(t, 3)
	if got := h.ask("POST", imagePath, imageBody, keyed...); got.status != http.StatusOK || len(h.sim.Requests()) != 2 {
		t.Errorf("%d after %d requests: %s", got.status, len(h.sim.Requests()), got.body)
	}
}

// A wait may be longer than a client has for its request, and than one write to it may take.
func TestAWaitBeyondTheClientsTimes(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) {
		p.config.WriteTimeout, p.readTime = time.Second, time.Second
		p.limits = []string{"rates: {requests: {per: 3s, limit: 1}}"}
	})
	h.ask("POST", textPath, textBody)
	got := h.ask("POST", textPath, textBody, "Prefer", "wait=30")
	if got.status != http.StatusOK || queueOf(got) < 1500 || got.err != nil || !strings.Contains(got.body, "choices") {
		t.Errorf("%d %v %v", got.status, got.header, got.err)
	}
}

// A request that waits goes by the accounts and the team in force when it is sent: it goes to no account that was drained or removed, or
// that is in none of its team's regions any more, and takes another one without waiting for it.
func TestWhatWaitsGoesByTheAccountsInForce(t *testing.T) {
	const once = "rates: [{requests: {per: 50s, limit: 1}}]"
	before := []string{"id: a, region: x, " + once, "id: b, region: y, teams: [shop]"}
	for name, change := range map[string]func(t *testing.T, h *harness){
		"drained": func(t *testing.T, h *harness) {
			h.gateway.SetUpstream(accountsOf(t, "id: a, region: x, weight: 0, "+once, "id: b, region: y"))
		},
		"removed": func(t *testing.T, h *harness) { h.gateway.SetUpstream(accountsOf(t, "id: b, region: y")) },
		"another region": func(t *testing.T, h *harness) {
			h.gateway.Set(parse(t, strings.Replace(h.teamsDoc, "regions: [x]", "regions: [y]", 1)),
				accountsOf(t, "id: a, region: x, "+once, "id: b, region: y"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := shared(t, before, func(p *plan) { p.limits = []string{"regions: [x]"} })
			if name != "another region" {
				h, _ = shared(t, before)
			}
			h.asks(1)
			waits := h.later("POST", textPath, textBody, "Prefer", "wait=60")
			h.awaitWaiting("search", 1)
			h.served()
			change(t, h)
			if got := inTime(t, waits); got.status != http.StatusOK || h.served() != "b:1" {
				t.Errorf("%d %v", got.status, got.header)
			}
		})
	}
}
