package gateway_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway/accounts"
	"sluice/gateway/simulator"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// keyOf is the key of an account at the service.
func keyOf(id string) string { return "sk-canary-" + id + "-0123456789abcdef" }

// accountsOf is the accounts of a list in an accounts file, one a line.
func accountsOf(t testing.TB, lines ...string) accounts.Set {
	t.Helper()
	u, err := readAccounts(lines...)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// readAccounts is the same for a process that is no test.
func readAccounts(lines ...string) (accounts.Set, error) {
	doc := "accounts:\n"
	for _, line := range lines {
		doc += "  - {key_file: /key, " + line + "}\n"
	}
	file, err := teams.ParseAccounts([]byte(doc))
	if err != nil {
		return accounts.Set{}, err
	}
	u := accounts.Set{File: file, Keys: map[string]upstream.Secret{}}
	for _, a := range file.List {
		u.Keys[a.ID] = upstream.Secret(keyOf(a.ID))
	}
	return u, nil
}

// shared is a harness whose gateway has several accounts at one simulator. Both have the same clock, which the test moves.
func shared(t testing.TB, lines []string, changes ...func(*plan)) (*harness, *handClock) {
	return tasked(t, append([]func(*plan){func(p *plan) {
		p.service = accountsOf(t, lines...)
		if strings.Contains(strings.Join(lines, " "), "weight: 1000") { // a tie goes to the other once in a thousand times
			p.config.ChooseFirst()
		}
		p.sim.Keys, p.sim.Accounts = nil, map[string]simulator.Account{}
		for id, key := range p.service.Keys {
			p.sim.Accounts[id] = simulator.Account{Keys: []string{key.Reveal()}, TaskRate: -1}
		}
	}}, changes...)...)
}

// served counts the requests to each account since the last call.
func (h *harness) served() string {
	h.Helper()
	n, all := map[string]int{}, h.sim.Requests()
	for _, r := range all[h.seen:] {
		n[r.Account]++
	}
	h.seen = len(all)
	var list []string
	for _, id := range slices.Sorted(maps.Keys(n)) {
		list = append(list, fmt.Sprint(id, ":", n[id]))
	}
	return strings.Join(list, " ")
}

// asks sends text requests, and returns the statuses.
func (h *harness) asks(n int, headers ...string) string {
	h.Helper()
	got := make([]string, n)
	for i := range got {
		got[i] = fmt.Sprint(h.ask("POST", textPath, textBody, headers...).status)
	}
	return strings.Join(got, " ")
}

// throttled has an account refuse every request to a model with 429.
func throttled(id, retryAfter string) simulator.Fault {
	return simulator.Fault{Account: id, On: simulator.EndpointModels, Error: &simulator.FaultError{Code: "Throttling.RateQuota"},
		RetryAfter: retryAfter}
}

// standing is what operators are shown of an account.
func (h *harness) standing(id string) account.Standing {
	h.Helper()
	for _, s := range h.gateway.Standings() {
		if s.ID == id {
			return s
		}
	}
	h.Fatalf("there is no account %s", id)
	return account.Standing{}
}

// New work goes where there is weight, and to accounts that serve the team and the model; none is counted longer than it runs.
func TestNewWorkGoesWhereThereIsWeight(t *testing.T) {
	h, _ := shared(t, []string{"id: a", "id: b, weight: 0", `id: c, models: ["other-*"]`, "id: d, teams: [shop]"})
	if got := h.asks(5); got != "200 200 200 200 200" {
		t.Error(got)
	}
	if got := h.served(); got != "a:5" {
		t.Errorf("served by %s", got)
	}
	h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"])
	if got := h.served(); got != "d:1" {
		t.Errorf("a team with an account of its own: served by %s", got)
	}
	for _, s := range h.gateway.Standings() {
		if s.InFlight != 0 || strings.Contains(s.Key, "canary") {
			t.Errorf("%+v", s)
		}
	}
}

// A forwarded path names no model: every account serves it, whatever models it lists.
func TestAForwardedPathIsServedByAccountsThatListModels(t *testing.T) {
	h, _ := shared(t, []string{`id: a, models: ["llm-*"], weight: 0`, `id: b, models: ["gen*"]`}, func(p *plan) {
		p.config.ForwardPaths = pathsOf("uploads")
		p.limits = []string{"endpoints: [text, other]"}
	})
	if got := h.ask("GET", "/api/v1/uploads?action=getPolicy", ""); h.served() != "b:1" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
}

// The busy account gets no more than its share: requests that run at the same time are spread by weight.
func TestRequestsThatRunTogetherAreSpreadByWeight(t *testing.T) {
	h, _ := shared(t, []string{"id: a, weight: 3", "id: b"})
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointModels, Stall: "before"})
	done := make(chan string)
	for range 8 {
		go func() { done <- h.asks(1) }()
	}
	if err := h.sim.AwaitStalled(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	if a, b := h.standing("a").InFlight, h.standing("b").InFlight; a != 6 || b != 2 {
		t.Errorf("%d and %d in flight, want 6 and 2", a, b)
	}
	h.sim.SetFault()
	h.sim.Release()
	for range 8 {
		if got := <-done; got != "200" {
			t.Error(got)
		}
	}
	h.records.await(t, 8)
	if a, b := h.standing("a").InFlight, h.standing("b").InFlight; a+b != 0 {
		t.Errorf("%d and %d in flight at the end", a, b)
	}
}

// A request that the service throttles goes on with another account, and the first rests for as long as it asked, for that model: not
// less after a shorter answer to a request that was under way, and not less for a second failure. Then one request probes it.
func TestAThrottledAccountRests(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(throttled("a", "30"))
	got := h.ask("POST", textPath, textBody)
	if got.status != http.StatusOK || got.header.Get("Retry-After") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := h.served(); got != "a:1 b:1" {
		t.Errorf("asked %s", got)
	}
	s := h.standing("a")
	if s.State != account.Cooling || s.Why != "Throttling.RateQuota" || s.Failovers["throttled"] != 1 || len(s.Cooling) != 1 ||
		s.Cooling[0].Model != "llm-max" {
		t.Errorf("%+v", s)
	}
	h.sim.SetFault()
	clock.move(29 * time.Second)
	if h.asks(3); h.served() != "b:3" {
		t.Error("the account was asked before it is time")
	}
	other := strings.Replace(textBody, "llm-max", "llm-plus", 1)
	if h.ask("POST", textPath, other); !strings.HasPrefix(h.served(), "a:") {
		t.Error("the pause is one of another model, too")
	}
	h.sim.SetFault(throttled("a", "10"))
	clock.move(2 * time.Second)
	if h.asks(3); h.served() != "a:1 b:3" {
		t.Error("the probe was refused: the others go elsewhere")
	}
	h.sim.SetFault()
	clock.move(11 * time.Second)
	if h.asks(3); h.served() != "a:3" {
		t.Error("the account does not come back")
	}
	if s := h.standing("a"); s.State != account.OK {
		t.Errorf("%+v", s)
	}
}

// While one request probes, the others do not.
func TestOneRequestProbes(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(throttled("a", "5"))
	h.asks(1)
	h.served()
	clock.move(6 * time.Second)
	h.sim.SetFault(simulator.Fault{Account: "a", On: simulator.EndpointModels, Stall: "before", Times: 1})
	probe := make(chan string)
	go func() { probe <- h.asks(1) }()
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	clock.move(time.Millisecond)
	if h.asks(3); h.served() != "a:1 b:3" {
		t.Error("another request probes as well")
	}
	h.sim.Release()
	if got := <-probe; got != "200" {
		t.Error(got)
	}
	h.records.await(t, 5)
	clock.move(time.Millisecond)
	if h.asks(1); h.served() != "a:1" {
		t.Error("the account does not come back")
	}
}

// A long stream is not waited for: its first frame shows that the account works.
func TestAStreamThatProbesIsNotWaitedFor(t *testing.T) {
	h, clock := shared(t, []string{"id: a", `id: b, models: ["other-*"]`})
	h.sim.SetFault(throttled("a", "5"))
	h.asks(1)
	h.served()
	clock.move(6 * time.Second)
	h.sim.SetFault(simulator.Fault{Account: "a", On: simulator.EndpointModels, Stall: "body", After: 1, Times: 1})
	probe, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = probe.Body.Close() }()
	if _, err := probe.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	clock.move(time.Millisecond)
	if got := h.asks(3); got != "200 200 200" || h.served() != "a:4" {
		t.Errorf("while the stream runs: %s", got)
	}
	h.sim.Release()
}

// The service's own 429 says how long Sluice will not ask its account, where the service does not say, spread like each wait that Sluice
// names.
func TestAThrottledAnswerSaysHowLongItsAccountRests(t *testing.T) {
	for _, lines := range [][]string{{"id: a"}, {"id: a", "id: b"}} {
		h, clock := shared(t, lines)
		h.sim.SetFault(throttled("a", ""), throttled("b", ""))
		for _, want := range []int{1, 2, 4} {
			got := h.ask("POST", textPath, textBody)
			after, _ := strconv.Atoi(got.header.Get("Retry-After"))
			if got.status != http.StatusTooManyRequests || after < want || after > want+1 || got.header.Get("Sluice-Refusal") != "" {
				t.Errorf("%v: %d %v, want %d s", lines, got.status, got.header, want)
			}
			clock.move(time.Minute)
		}
	}
}

// If the only account that serves is cooling, requests are refused for as long as it must not be asked.
func TestTheOnlyAccountThatServesIsCooling(t *testing.T) {
	h, clock := shared(t, []string{"id: a", `id: b, models: ["other-*"]`})
	h.sim.SetFault(throttled("a", "20"))
	got := h.ask("POST", textPath, textBody)
	if got.status != http.StatusTooManyRequests || got.header.Get("Sluice-Refusal") != "" || got.header.Get("Retry-After") != "20" {
		t.Errorf("the service's own answer: %d %v", got.status, got.header)
	}
	clock.move(5 * time.Second)
	got = h.ask("POST", textPath, textBody)
	got.wants(t, 429, "admit/account", "Throttling.RateQuota")
	if after := got.header.Get("Retry-After"); after < "15" || after > "18" {
		t.Errorf("Retry-After %s", after)
	}
	if record := h.recordOf(t, got); record.Account != "" {
		t.Errorf("the log names account %q, which was not asked", record.Account)
	}
	if h.served() != "a:1" {
		t.Error("the account was asked while it rests")
	}
}

// An account whose key is refused, or that does not pay, is out: it is alarmed, probed once a minute, and at once when its key changes.
func TestAnAccountThatIsRefusedIsOut(t *testing.T) {
	for name, fault := range map[string]simulator.FaultError{
		"key": {Status: 401, Plain: true}, "arrears": {Code: "Arrearage", Status: 400}, "bill": {Code: "PostpaidBillOverdue", Status: 429},
	} {
		t.Run(name, func(t *testing.T) {
			h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
			h.sim.SetFault(simulator.Fault{Account: "a", On: simulator.EndpointModels, Error: &fault})
			if got := h.asks(3); got != "200 200 200" {
				t.Error(got)
			}
			if got := h.served(); got != "a:1 b:3" {
				t.Errorf("asked %s", got)
			}
			if s := h.standing("a"); s.State != account.Out || s.Failovers["refused"] != 1 || !strings.Contains(h.log.String(), `"msg":"alarm"`) {
				t.Errorf("%+v", s)
			}
			clock.move(61 * time.Second)
			if h.asks(3); h.served() != "a:1 b:3" {
				t.Error("it is probed once a minute")
			}
			h.sim.SetFault()
			clock.move(time.Second)
			h.asks(2)
			if got := h.served(); got != "b:2" {
				t.Errorf("probed too early: %s", got)
			}
			u := accountsOf(t, "id: a, weight: 1000", "id: b")
			u.Keys["a"] = "sk-canary-another-0123456789"
			h.sim.SetKeys("a", "sk-canary-another-0123456789")
			h.gateway.SetUpstream(u)
			clock.move(time.Millisecond)
			if h.asks(3); h.served() != "a:3" {
				t.Error("the account with another key is not asked at once")
			}
		})
	}
}

// While an account's key is refused and its tasks are queried, one request a minute probes it all the same.
func TestQueriesPutNoProbeOff(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	id := h.create(t)
	h.sim.SetKeys("a", "x")
	h.asks(1)
	probes := 0
	for range 20 { // ten minutes
		clock.move(30 * time.Second)
		h.poll(id)
		h.served()
		if h.asks(1); h.served() != "b:1" {
			probes++
		}
	}
	if probes != 10 {
		t.Errorf("%d probes in ten minutes", probes)
	}
}

// If each account is out, the first answer is the service's, and the next ones are refused until a probe succeeds.
func TestAllAccountsAreOut(t *testing.T) {
	h, clock := shared(t, []string{"id: a", "id: b"})
	h.sim.SetKeys("a", "x")
	h.sim.SetKeys("b", "y")
	h.ask("POST", textPath, textBody).wants(t, 502, "forward/key", "InternalError")
	clock.move(time.Second)
	h.ask("POST", textPath, textBody).wants(t, 503, "admit/account", "ServiceUnavailable")
	if got := len(h.sim.Requests()); got != 2 {
		t.Errorf("%d requests reached the service, want one with each key", got)
	}
	h.sim.SetKeys("b", keyOf("b"))
	clock.move(time.Minute)
	if got := h.asks(3); got != "200 200 200" { // the first may find that a is still out
		t.Error(got)
	}
}

// No text shows the key or the address of any account, and each key is recognised when a client presents it.
func TestTheKeysOfAllAccountsAreSecret(t *testing.T) {
	h, _ := shared(t, []string{"id: a", "id: b, url: https://canary-host.example/api/v1, weight: 0"})
	quote := `{"code":"InvalidParameter","message":"` + keyOf("a") + " " + keyOf("b") + ` at canary-host.example","request_id":"r"}`
	h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 400, Code: "InvalidParameter",
		Message: keyOf("a") + " " + keyOf("b") + " at canary-host.example"}})
	if got := h.ask("POST", textPath, textBody); strings.Contains(got.body, "canary") || !strings.Contains(got.body, "***") {
		t.Errorf("%s of %s", got.body, quote)
	}
	for _, id := range []string{"a", "b"} {
		h.ask("GET", tasksPath, "", "Authorization", "Bearer "+keyOf(id)).wants(t, 401, "authenticate/key", "InvalidApiKey")
		if !strings.Contains(h.log.String(), `"code":"KeyPresented","account":"`+id+`"`) {
			t.Errorf("the key of %s is not recognised: %s", id, h.log.String())
		}
	}
	if strings.Contains(h.log.String(), "canary") {
		t.Error(h.log.String())
	}
}

// A task stays with the account that made it: while that is cooling, drained, has another key, and after a restart of the gateway.
// New work goes elsewhere meanwhile.
func TestATaskStaysWithItsAccount(t *testing.T) {
	lines := []string{"id: a, weight: 1000", "id: b"}
	var claims tasks.Claims
	h, clock := shared(t, lines, func(p *plan) {
		p.claims = cache.NewClaims(p.config.TaskTTL, p.now)
		claims = p.claims
	})
	id := h.create(t)
	h.served()
	status := func(want string) {
		t.Helper()
		clock.move(6 * time.Second)
		if got := h.poll(id).member(t, "output", "task_status"); got != want {
			t.Errorf("the task is %s, want %s", got, want)
		}
		if got := h.served(); got != "a:1" {
			t.Errorf("asked %s", got)
		}
	}
	h.sim.SetFault(throttled("a", "600"))
	other := h.create(t)
	if got := h.served(); got != "a:1 b:1" {
		t.Errorf("new work while the task's account is throttled: %s", got)
	}
	status("RUNNING")
	drained := accountsOf(t, "id: a, weight: 0", "id: b")
	drained.Keys["a"] = "sk-canary-rotated-0123456789"
	h.sim.SetKeys("a", "sk-canary-rotated-0123456789")
	h.gateway.SetUpstream(drained)
	again, _ := tasked(t, func(p *plan) {
		p.service, p.claims, p.now = drained, claims, clock.now
		p.address = "http://" + h.upstreamHost
	})
	again.keys = h.keys
	again.gateway.SetTeams(parse(t, h.teamsDoc))
	clock.move(6 * time.Second)
	if got := again.poll(id).member(t, "output", "task_status"); got != "SUCCEEDED" || h.served() != "a:1" {
		t.Errorf("after rotation, drain and restart the task is %s", got)
	}
	if got := h.poll(other).member(t, "output", "task_status"); got != "SUCCEEDED" || h.served() != "b:1" {
		t.Errorf("the other account's task is %s", got)
	}
}

// The last known answer about a task whose account was removed is served, the log says so once, a cancel is not sent, and the hold is
// charged when the task expires.
func TestATaskOfARemovedAccount(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	id := h.create(t)
	clock.move(6 * time.Second)
	h.poll(id)
	h.served()
	h.gateway.SetUpstream(accountsOf(t, "id: b"))
	for range 3 {
		clock.move(6 * time.Second)
		got := h.poll(id)
		if status := got.member(t, "output", "task_status"); got.status != http.StatusOK || status != "RUNNING" {
			t.Errorf("%d %s", got.status, status)
		}
		h.gateway.Finish(t.Context())
	}
	h.ask("POST", tasksPath+"/"+id+"/cancel", "").wants(t, 502, "forward/unreachable", "InternalError")
	if got := h.served(); got != "" {
		t.Errorf("asked %s", got)
	}
	if n := strings.Count(h.log.String(), "not in the accounts file"); n != 1 {
		t.Errorf("%d lines about it: %s", n, h.log.String())
	}
	clock.move(25 * time.Hour)
	h.gateway.Finish(t.Context())
	if lines := h.taskLines(); len(lines) != 1 || lines[0]["settled_by"] != "lease" {
		t.Errorf("%v", lines)
	}
	h.gateway.SetUpstream(accountsOf(t, "id: a", "id: b"))
}

// Each account has its own rate of queries.
func TestEachAccountHasItsRateOfQueries(t *testing.T) {
	h, clock := shared(t, []string{"id: a, query_rate: 2", "id: b, weight: 0"}, func(p *plan) { p.queryRate = 3 })
	var ids []string
	for range 4 {
		ids = append(ids, h.create(t))
	}
	h.gateway.SetUpstream(accountsOf(t, "id: a, weight: 0, query_rate: 2", "id: b"))
	for range 4 {
		ids = append(ids, h.create(t))
	}
	h.served()
	clock.move(6 * time.Second)
	for _, id := range ids {
		h.poll(id)
	}
	if got := h.served(); got != "a:2 b:3" {
		t.Errorf("queried %s", got)
	}
}

// An account whose own rate or quota has no room is passed over while another has some. If none has, the refusal has the shortest wait, and
// no hold stays.
func TestAnAccountWithoutRoomIsPassedOver(t *testing.T) {
	h, clock := shared(t, []string{
		"id: a, weight: 1000, rates: [{requests: {per: 1m, limit: 2, burst: 2}}]",
		"id: b, rates: [{requests: {per: 10s, limit: 1, burst: 1}}]", "id: c, quotas: {requests: {day: 1}}",
	})
	if got := h.asks(4); got != "200 200 200 200" || h.served() != "a:2 b:1 c:1" {
		t.Error(got)
	}
	got := h.ask("POST", textPath, textBody)
	got.wants(t, 429, "admit/account", "Throttling.RateQuota")
	if after := got.header.Get("Retry-After"); len(after) != 2 || after > "13" || !strings.Contains(got.body, "rate of 1 request per 10s") {
		t.Errorf("Retry-After %s: %s", after, got.body)
	}
	clock.move(11 * time.Second)
	if got := h.asks(1); got != "200" || h.served() != "b:1" {
		t.Error(got)
	}
	h.records.await(t, 6)
	if open, err := h.balances.Open(t.Context(), "search"); err != nil || open != 0 {
		t.Errorf("%d holds are open, %v", open, err)
	}
}

// A request goes on only with an account that has room, and its hold moves there.
func TestARequestGoesOnWhereThereIsRoom(t *testing.T) {
	h, _ := shared(t, []string{
		"id: a, weight: 1000", "id: b, weight: 100, rates: [{requests: {per: 1m, limit: 1, burst: 1}}]", "id: c, quotas: {requests: {day: 100}}",
	})
	h.sim.SetFault(throttled("a", "0"))
	h.ask("POST", textPath, textBody)
	h.served()
	var asked []string
	for range 3 {
		h.ask("POST", textPath, strings.Replace(textBody, "llm-max", fmt.Sprint("llm-plus-", len(asked)), 1))
		asked = append(asked, h.served())
	}
	if got := strings.Join(asked, ", "); got != "a:1 c:1, a:1 c:1, a:1 c:1" {
		t.Errorf("asked %s", got)
	}
	h.records.await(t, 4)
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{day(h)}, Most: 100})
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]int64{}
	for _, row := range rows {
		requests[row.Account] += row.Used[limit.Requests]
	}
	if requests["a"] != 0 || requests["b"] != 1 || requests["c"] != 3 {
		t.Errorf("the ledger has %v", requests)
	}
	if open, err := h.balances.Open(t.Context(), "search"); err != nil || open != 0 {
		t.Errorf("%d holds are open, %v", open, err)
	}
}

// day is the day in UTC of the gateway's last request.
func day(h *harness) int {
	at := h.records.await(h, 1)[0].Time.UTC()
	return at.Year()*10000 + int(at.Month())*100 + at.Day()
}
