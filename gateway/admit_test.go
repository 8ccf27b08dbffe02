package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/stores"
	"sluice/policy/forms"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// limited gives team search limits; team shop has none.
func limited(lines ...string) func(*plan) {
	return func(p *plan) { p.limits = append(p.limits, lines...) }
}

// forwarding opens paths that Sluice does not know to team search.
func forwarding(paths ...string) func(*plan) {
	return func(p *plan) {
		p.config.ForwardPaths = pathsOf(paths...)
		p.limits = append(p.limits, "endpoints: [text, multimodal, image, tasks, embeddings, other]")
	}
}

// pathsOf are forwarded paths, each as prefix or prefix=form.
func pathsOf(texts ...string) (all []forms.Path) {
	for _, text := range texts {
		p, ok := forms.ReadPath(text)
		if !ok {
			panic(text)
		}
		all = append(all, p)
	}
	return all
}

// A refusal by a rate reports the amount left and when the request fits, and costs upstream nothing.
func TestRate(t *testing.T) {
	h := build(t, limited("rates: {requests: {per: 1h, limit: 2}, tokens: {per: 1m, limit: 200000}}"))
	first := h.ask("POST", textPath, textBody)
	if got := first.header.Get("Ratelimit-Policy"); got != `"requests";q=2;w=3600, "tokens";q=200000;w=60` {
		t.Errorf("RateLimit-Policy is %s", got)
	}
	if got := first.header.Get("Ratelimit"); !strings.HasPrefix(got, `"requests";r=1;t=1800, "tokens";r=1979`) {
		t.Errorf("RateLimit is %s", got)
	}
	h.ask("POST", textPath, textBody)
	refused := h.ask("POST", textPath, textBody)
	refused.wants(t, 429, "admit/rate", "Throttling.RateQuota")
	if got := refused.header.Get("Ratelimit"); !strings.HasPrefix(got, `"requests";r=0;t=1800`) {
		t.Errorf("refused, RateLimit is %s", got)
	}
	if after := refused.header.Get("Retry-After"); after < "1799" || after > "1860" || len(after) != 4 {
		t.Errorf("Retry-After is %s", after)
	}
	if !strings.Contains(refused.member(t, "message"), "Team search has 0 requests left of its rate of 2 per 1h") {
		t.Errorf("the message is %s", refused.body)
	}
	if n := h.sim.Count(simulator.EndpointText); n != 2 {
		t.Errorf("%d requests reached the service", n)
	}
	if free := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"]); free.status != 200 ||
		free.header.Get("Ratelimit") != "" {
		t.Errorf("a team without limits: %d %v", free.status, free.header)
	}
}

// The usage in the answer is charged, not the hold; the log line has both.
func TestSettledByUsage(t *testing.T) {
	h := build(t, limited("quotas: {tokens: {day: 100000}, requests: {day: 100}}"))
	for n, headers := range [][]string{nil, {"X-Service-SSE", "enable"}} {
		h.ask("POST", textPath, textBody, headers...)
		record := h.records.await(t, n+1)[n]
		used, known := record.Usage.Tokens()
		if !known || record.Cost.Amounts[limit.Tokens] != used || record.Cost.Amounts[limit.Requests] != 1 || record.Cost.Flag != "exact" ||
			record.Held.Amounts[limit.Tokens] <= used {
			t.Errorf("held %+v, charged %+v, used %d", record.Held, record.Cost, used)
		}
	}
	var used int64
	for _, r := range h.records.await(t, 2) {
		used += r.Cost.Amounts[limit.Tokens]
	}
	left := h.ask("POST", textPath, textBody).header.Get("Ratelimit")
	held := h.records.await(t, 3)[2].Held.Amounts[limit.Tokens]
	if want := fmt.Sprintf(`"tokens-day";r=%d;`, 100000-used-held); !strings.Contains(left, want) {
		t.Errorf("RateLimit is %s, want %s", left, want)
	}
}

// A quota refuses by the sum of used and held amounts, and reports when it resets.
func TestQuota(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 2}}", "open_tasks: 5"))
	async := []string{"X-Service-Async", "enable"}
	created := h.ask("POST", imagePath, imageBody, async...)
	if created.status != 200 || created.header.Get("Sluice-Held") != "images=1" {
		t.Fatalf("%d %v %s", created.status, created.header, created.body)
	}
	four := strings.Replace(imageBody, `"n":1`, `"n":4`, 1)
	h.ask("POST", imagePath, four, async...).wants(t, 400, "admit/never", "InvalidParameter")
	two := strings.Replace(imageBody, `"n":1`, `"n":2`, 1)
	h.ask("POST", imagePath, two, async...).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations reached the service", n)
	}
}

// The poll that learns of a task's end settles its cost, by the images made.
func TestTaskSettledAtItsEnd(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 8}}", "open_tasks: 1"))
	async := []string{"X-Service-Async", "enable"}
	four := strings.Replace(imageBody, `"n":1`, `"n":4`, 1)
	task := h.ask("POST", imagePath, four, async...).member(t, "output", "task_id")
	h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/open_tasks", "Throttling.RateQuota")
	status := ""
	for range 5 { // each poll sees the next state
		status = h.ask("GET", tasksPath+"/"+task, "").member(t, "output", "task_status")
	}
	if status != "SUCCEEDED" {
		t.Fatalf("the task is %s", status)
	}
	again := h.ask("POST", imagePath, imageBody, async...)
	if again.status != 200 || !strings.Contains(again.header.Get("Ratelimit"), `"images-day";r=3;`) {
		t.Errorf("4 of 8 are used and 1 is held: %d %s", again.status, again.header.Get("Ratelimit"))
	}
}

// The hold of an unsent request is given back whole; a request that the service refused costs only itself.
func TestReleased(t *testing.T) {
	for _, tt := range []struct {
		fault    simulator.Fault
		requests int64
		flag     string
	}{
		{simulator.Fault{Error: &simulator.FaultError{Status: 400, Code: "DataInspectionFailed", Message: "no"}}, 1, "refused"},
		{simulator.Fault{Error: &simulator.FaultError{Status: 429, Code: "Throttling", Message: "no"}}, 1, "refused"},
		{simulator.Fault{Error: &simulator.FaultError{Status: 503, Code: "ModelUnavailable", Message: "no"}}, 1, "refused"},
	} {
		h := build(t, limited("quotas: {tokens: {day: 100000}}"))
		h.sim.SetFault(tt.fault)
		h.ask("POST", textPath, textBody)
		if r := h.records.await(t, 1)[0]; r.Cost.Amounts[limit.Tokens] != 0 || r.Cost.Amounts[limit.Requests] != tt.requests ||
			r.Cost.Flag != tt.flag {
			t.Errorf("%+v: charged %+v", tt.fault, r.Cost)
		}
	}
	h := build(t, limited("rates: {requests: {per: 1h, limit: 1}}"), func(p *plan) { p.address = "http://127.0.0.1:1" })
	for n := range 2 {
		h.ask("POST", textPath, textBody).wants(t, 502, "forward/unreachable", "InternalError")
		if r := h.records.await(t, n+1)[n]; r.Cost.Amounts[limit.Requests] != 0 || r.Cost.Flag != "not-sent" {
			t.Errorf("charged %+v", r.Cost)
		}
	}
}

// A team's slot is taken until its upstream call has ended.
func TestConcurrent(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan struct{}, 4)
	h := build(t, limited("concurrent: 2"), func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-release
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"output":{},"usage":{"total_tokens":1}}`))
		})
	})
	done := make(chan reading, 2)
	for range 2 {
		go func() { done <- h.ask("POST", textPath, textBody) }()
	}
	<-arrived
	<-arrived
	for range 3 { // a refused request takes no slot
		h.ask("POST", textPath, textBody).wants(t, 429, "throttle/concurrent", "Throttling.RateQuota")
	}
	close(release)
	<-done
	<-done
	h.records.await(t, 5)
	if got := h.ask("POST", textPath, textBody); got.status != 200 {
		t.Errorf("with slots free again: %d %s", got.status, got.body)
	}
}

// A team in shadow mode is refused nothing, and sees what would be refused.
func TestShadowHeader(t *testing.T) {
	h := build(t, limited("shadow: true", "rates: {requests: {per: 1h, limit: 1}}"))
	for n, want := range []string{"", "admit/rate", "admit/rate"} {
		if got := h.ask("POST", textPath, textBody); got.status != 200 || got.header.Get("Sluice-Shadow") != want {
			t.Errorf("request %d: %d, Sluice-Shadow %q, want %q", n, got.status, got.header.Get("Sluice-Shadow"), want)
		}
	}
}

// reloading accounts change the teams file after each admission, and note the team by which a request is settled.
type reloading struct {
	stores.Balances
	reload  func()
	settled []*teams.Team
}

func (r *reloading) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	v, err := r.Balances.Admit(ctx, h)
	r.reload()
	return v, err
}

func (r *reloading) SettleLater(c *limit.Charge) {
	r.settled = append(r.settled, c.Team)
	r.Balances.SettleLater(c)
}

// A request that was admitted before a reload is settled by the rates after it, or by none if its team is gone: the
// old rates would take tokens that the new ones have added.
func TestSettledByTheRatesOfTheDay(t *testing.T) {
	balances := &reloading{Balances: limit.NewMemory(time.Now)}
	h := build(t, limited("rates: {tokens: {per: 1m, limit: 100000}}"), func(p *plan) { p.balances = balances })
	docs := []string{strings.Replace(h.teamsDoc, "limit: 100000}", "limit: 200000}", 1), "teams: []\n"}
	for n, doc := range docs {
		balances.reload = func() { h.gateway.SetTeams(parse(t, doc)) }
		if got := h.ask("POST", textPath, textBody); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		h.records.await(t, n+1)
	}
	if got := balances.settled; len(got) != 2 || got[0] == nil || got[0].Rates[0].Limit != 200000 || got[1] != nil {
		t.Errorf("settled by %+v", got)
	}
}

// A creation that the service answered with an internal error may have created a task: its hold stays for an hour, and is
// then charged.
func TestAnUnknownOutcomeIsHeldForAnHour(t *testing.T) {
	h, clock := tasked(t, limited("quotas: {images: {day: 100}}"))
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Error: &simulator.FaultError{Status: 500}})
	if got := h.ask("POST", imagePath, imageBody, async...); got.status != 500 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	h.records.await(t, 1)
	for _, tt := range []struct {
		after      time.Duration
		used, held string
		open       int
	}{{0, "0", "1", 1}, {59 * time.Minute, "0", "1", 1}, {2 * time.Minute, "1", "0", 0}} {
		clock.move(tt.after)
		if err := h.balances.Maintain(t.Context()); err != nil {
			t.Error(err)
		}
		h.stands(t, "images", tt.used, tt.held, tt.open)
	}
}

// Whatever becomes of an admitted request, its answer has what is left of the team's limits, and what an image request holds.
func TestLimitHeadersAreOnEveryAnswerToAnAdmittedRequest(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 100}, requests: {day: 100}}"), func(p *plan) { p.config.OpenAI = true })
	for row, fault := range map[string]simulator.Fault{
		"forward/key":    {Error: &simulator.FaultError{Status: 401, Plain: true}},
		"forward/answer": {Drop: "close"},
		"":               {Error: &simulator.FaultError{Status: 400}},
	} {
		h.sim.SetFault(fault)
		for path, body := range map[string]string{imagePath: imageBody, textPath: textBody, frontChats: frontChat, frontImages: frontPicture} {
			held := map[string]string{imagePath: "images=1", frontImages: "images=2"}[path]
			got := h.ask("POST", path, body, map[string][]string{imagePath: async}[path]...)
			if has := got.header; has.Get("Sluice-Refusal") != row || has.Get("Ratelimit") == "" || has.Get("Ratelimit-Policy") == "" ||
				has.Get("Sluice-Held") != held {
				t.Errorf("%s: %d %v", path, got.status, has)
			}
		}
	}
	if got := h.ask("POST", textPath, "{"); got.status != 400 || got.header.Get("Ratelimit") != "" {
		t.Errorf("not admitted: %d %v", got.status, got.header)
	}
}
