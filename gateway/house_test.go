package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// housed is a change that gives the teams file a house.
func housed(text string) func(*plan) {
	return func(p *plan) { p.teams += "house: " + text + "\n" }
}

func ofImages(n int) string { return strings.Replace(imageBody, `"n":1`, fmt.Sprintf(`"n":%d`, n), 1) }

// A quota of the house refuses a team without limits, and says so; what can never fit is another refusal. A task that ends settles its
// hold in the house.
func TestTheHouseRefuses(t *testing.T) {
	h := build(t, housed("{quotas: {images: {day: 6}}}"))
	if first := h.ask("POST", imagePath, ofImages(4), async...); first.status != 200 {
		t.Fatal(first.status, first.body)
	}
	refused := h.ask("POST", imagePath, ofImages(3), async...)
	refused.wants(t, 429, "admit/house", "Throttling.AllocationQuota")
	page, err := os.ReadFile("../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	if text := refused.member(t, "message"); refused.header.Get("Sluice-Scope") != "house" ||
		!strings.Contains(string(page), "\n```\n"+strings.TrimSuffix(text, " (admit/house)")+"\n```\n") {
		t.Errorf("docs/money.md lacks %q of %q", text, refused.header.Get("Sluice-Scope"))
	}
	if refused.header.Get("Ratelimit") != "" {
		t.Errorf("the team has no limits: %s", refused.header.Get("Ratelimit"))
	}
	h = build(t, housed("{quotas: {images: {day: 3}}}"))
	never := h.ask("POST", imagePath, ofImages(4), async...)
	never.wants(t, 400, "admit/never", "InvalidParameter")
	if !strings.Contains(never.body, "the house is allowed 3 of images per day") || never.header.Get("Sluice-Scope") != "house" {
		t.Errorf("%v %s", never.header, never.body)
	}
}

// The estimate of a text is never too large for the house, nor for an account at the service, although the request may make pictures
// instead. The price of the pictures can be.
func TestTheHouseCutsTheEstimateBesidePictures(t *testing.T) {
	for about, limits := range map[string]func(*plan){
		"the house's":  housed("{quotas: {spend: {day: 8}}}"),
		"an account's": func(p *plan) { p.service = accountsOf(t, "id: main, quotas: {spend: {day: 8}}") },
	} {
		h := build(t, governed, func(p *plan) { p.teams = "prices: [{model: \"*\", output_per_million: 10, image: 0.5}]\n" }, limits,
			func(p *plan) {
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"output":{"text":"a"},"usage":{"input_tokens":10,"output_tokens":5}}`)
				})
			})
		ask := func(parameters string) reading {
			return h.ask("POST", "/api/v1/services/video/now", `{"model":"llm-max","input":{"prompt":"river"},"parameters":{`+parameters+`}}`)
		}
		if got := ask(`"size":"1024*1024","max_tokens":1000000`); got.status != 200 {
			t.Errorf("%s: %d %s", about, got.status, got.body)
		}
		never := ask(`"size":"1024*1024","n":17,"max_tokens":1000000`)
		never.wants(t, 400, "admit/never", "InvalidParameter")
		if !strings.Contains(never.body, "The request asks for 8.5 and can never fit") {
			t.Errorf("%s: %s", about, never.body)
		}
	}
}

// The end of a task is charged to the house, too, by whichever process learns of it.
func TestATaskEndsInTheHouse(t *testing.T) {
	h := build(t, housed("{quotas: {images: {day: 6}}}"))
	task := h.ask("POST", imagePath, ofImages(4), async...).member(t, "output", "task_id")
	for range 5 {
		h.ask("GET", tasksPath+"/"+task, "")
	}
	account := &teams.Team{ID: teams.HouseID, Quotas: []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 6}}}
	report, err := h.balances.Look(t.Context(), account)
	if err != nil || report.Limits[0].Used != 4 || report.Limits[0].Held != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A house with a quota of spend lets no model pass that has no price.
func TestTheHouseNeedsPrices(t *testing.T) {
	h := build(t, housed("{quotas: {spend: {day: 6}}}"))
	refused := h.ask("POST", textPath, textBody)
	refused.wants(t, 403, "inspect/model", "Model.AccessDenied")
	if !strings.Contains(refused.body, "The house has a spend quota") {
		t.Error(refused.body)
	}
}

// A house that is used up refuses all teams without a look at the accounts, and no longer once something was settled.
func TestTheHousesRefusalIsRemembered(t *testing.T) {
	at := time.Now()
	counts := &counted{Balances: limit.NewMemory(func() time.Time { return at })}
	h := build(t, housed("{quotas: {requests: {day: 1}}}"), func(p *plan) { p.now, p.balances = func() time.Time { return at }, counts })
	h.ask("POST", textPath, textBody)
	h.records.await(t, 1)
	for range 5 {
		h.ask("POST", textPath, textBody).wants(t, 429, "admit/house", "Throttling.AllocationQuota")
	}
	if n := counts.asked.Load(); n != 2 {
		t.Errorf("the accounts were called %d times, want 2", n)
	}
}

// The same holds for pictures, whichever team's task has ended.
func TestTheHousesRefusalOfPicturesIsForgotten(t *testing.T) {
	at := time.Now()
	counts := &counted{Balances: limit.NewMemory(func() time.Time { return at })}
	h := build(t, housed("{quotas: {images: {day: 4}}}"), func(p *plan) { p.now, p.balances = func() time.Time { return at }, counts })
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Times: 1, Task: &simulator.FaultTask{Outcome: "fail"}})
	task := h.ask("POST", imagePath, ofImages(4), async...).member(t, "output", "task_id")
	shops := append([]string{"Authorization", "Bearer " + h.keys["shop"]}, async...)
	for range 3 {
		h.ask("POST", imagePath, imageBody, shops...).wants(t, 429, "admit/house", "Throttling.AllocationQuota")
	}
	if n := counts.asked.Load(); n != 2 {
		t.Errorf("the accounts were called %d times, want 2", n)
	}
	for range 5 {
		h.ask("GET", tasksPath+"/"+task, "")
	}
	if got := h.ask("POST", imagePath, imageBody, shops...); got.status != 200 {
		t.Errorf("the task of another team has failed, and the next is refused: %d %s", got.status, got.body)
	}
}

// Each per cent of a quota of the house is reported once in its period: by a log line, a metric, and the function for events.
func TestAlertsOfTheHouse(t *testing.T) {
	clock := time.Now
	balances := limit.NewMemory(clock)
	file := parsed(t, "house: {quotas: {images: {day: 10}, requests: {month: 1000}}, alert: [50, 80, 95]}\nteams: [{id: search}]\n")
	h := build(t, housed("{quotas: {images: {day: 10}, requests: {month: 1000}}, alert: [50, 80, 95]}"), func(p *plan) {
		p.balances = balances
	})
	use := func(n int) {
		hold := &limit.Hold{
			ID: fmt.Sprint("a", n), Team: file.Team("search"), Outside: limit.OutsideFor(file, ""), Lease: time.Hour,
			Amounts: limit.Amounts{limit.Requests: 1, limit.Images: int64(n)},
		}
		v, err := balances.Admit(t.Context(), hold)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
	}
	look := func(want ...string) {
		t.Helper()
		h.gateway.SetTeams(parsed(t, h.teamsDoc)) // a new file is looked at in the next round
		h.work(t)
		var passed []string
		for _, line := range strings.Split(h.log.String(), "\n") {
			var percent int
			if _, rest, ok := strings.Cut(line, "all teams together have taken "); ok {
				_, _ = fmt.Sscanf(rest, "%d %%", &percent)
				_, name, _ := strings.Cut(rest, "quota ")
				name, _, _ = strings.Cut(name, `"`)
				passed = append(passed, fmt.Sprint(name, " ", percent))
			}
		}
		if fmt.Sprint(passed) != fmt.Sprint(want) {
			t.Errorf("passed %v, want %v", passed, want)
		}
	}
	use(4)
	look()
	use(5)
	look("images-day 50", "images-day 80")
	look("images-day 50", "images-day 80")
	use(1)
	look("images-day 50", "images-day 80", "images-day 95")
	h.counts(t, "sluice_house_used", map[string]float64{`period="day",unit="images"`: 1, `period="month",unit="requests"`: 0.003})
	h.counts(t, "sluice_house_alerts_total", map[string]float64{
		`percent="50",period="day",unit="images"`: 1, `percent="80",period="day",unit="images"`: 1, `percent="95",period="day",unit="images"`: 1,
	})
	if n := strings.Count(h.log.String(), "all teams together have taken 80 % of the house's quota images-day"); n != 1 {
		t.Errorf("%d lines: %s", n, h.log.String())
	}
	if says := h.gateway.House(); says != "requests-month 3 of 1000 (0 %), images-day 10 of 10 (100 %)" {
		t.Error(says)
	}
}

// work does one round of the background work.
func (h *harness) work(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.gateway.Work(ctx)
}

func parsed(t *testing.T, doc string) *teams.File {
	t.Helper()
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A model without a price is refused where a quota counts money, and Sluice-Scope says whose: the narrowest.
func TestTheScopeOfAMissingPrice(t *testing.T) {
	const spend = "quotas: {spend: {day: 6}}"
	for scope, limits := range map[string][3]string{
		"house": {"{" + spend + "}"}, "team": {"{" + spend + "}", spend}, "key": {"{" + spend + "}", spend, spend},
	} {
		h := build(t, housed(limits[0]), limited(limits[1]))
		if limits[2] != "" {
			ownLimits(t, h, limits[2])
		}
		refused := h.ask("POST", textPath, textBody)
		refused.wants(t, 403, "inspect/model", "Model.AccessDenied")
		if got := refused.header.Get("Sluice-Scope"); got != scope {
			t.Errorf("Sluice-Scope is %q, want %s: %s", got, scope, refused.body)
		}
	}
}

// An account with a quota of spend does not serve a model without a price: another one does, and if there is none, the model is refused.
func TestAnAccountThatSpendsServesNoModelWithoutAPrice(t *testing.T) {
	const spends = ", quotas: {spend: {day: 6}}"
	h, _ := shared(t, []string{"id: a, weight: 1000" + spends, "id: b"})
	if got := h.asks(2); got != "200 200" || h.served() != "b:2" {
		t.Errorf("with an account that counts no money: %s", got)
	}
	h.gateway.SetUpstream(accountsOf(t, "id: a"+spends))
	refused := h.ask("POST", textPath, textBody)
	refused.wants(t, 403, "inspect/model", "Model.AccessDenied")
	const why = "Each account that serves it has a spend quota, and the teams file has no price for the model"
	if got := refused.header.Get("Sluice-Scope"); got != "account" || !strings.Contains(refused.body, why) || h.served() != "" {
		t.Errorf("Sluice-Scope is %q: %s", got, refused.body)
	}
	h.gateway.SetTeams(parse(t, h.teamsDoc+"prices: [{model: \"*\", input_per_million: 1}]\n"))
	if got := h.asks(1); got != "200" {
		t.Errorf("with a price: %s", got)
	}
}
