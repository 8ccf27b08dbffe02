package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
)

// TestTags: they go to the log, the span and the ledger, of synchronous requests and of tasks, by either interface, and not to the
// service.
func TestTags(t *testing.T) {
	h := build(t, func(p *plan) { p.limits = []string{"tag_key: project"}; p.config.OpenAI = true })
	key := "Bearer " + h.keys["search"]
	for _, tt := range []struct{ path, body, tags, async string }{
		{textPath, textBody, "project=alpha,user=42", ""},
		{"/v1/chat/completions", `{"model":"llm-max","messages":[{"role":"user","content":"Rivers."}]}`, "user=42, project=alpha", ""},
		{imagePath, imageBody, "project=beta", "enable"},
		{textPath, textBody, "user=42", ""},
		{textPath, textBody, "", ""},
	} {
		headers := []string{"Authorization", key, "Sluice-Tag", tt.tags}
		if tt.tags == "" {
			headers = headers[:2]
		}
		if tt.async != "" {
			headers = append(headers, "X-Service-Async", tt.async)
		}
		if got := h.ask("POST", tt.path, tt.body, headers...); got.status != 200 {
			t.Fatalf("%s %d %s", tt.path, got.status, got.body)
		}
	}
	for i, r := range h.records.await(t, 5) {
		if want := []string{"project=alpha,user=42", "user=42,project=alpha", "project=beta", "user=42", ""}[i]; r.Tags != want {
			t.Errorf("request %d: the log has the tags %q, want %q", i, r.Tags, want)
		} else if line := string(r.AppendLine(nil)); want != "" && !strings.Contains(line, `,"tag":"`+want+`"`) {
			t.Errorf("request %d: the line is %s", i, line)
		}
	}
	for _, r := range h.sim.Requests() {
		if r.Header.Get("Sluice-Tag") != "" {
			t.Error("the service was sent the tags")
		}
	}
	now := time.Now().UTC()
	today := []int{now.Year()*10000 + int(now.Month())*100 + now.Day()}
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: today, By: limit.ScopeTag})
	if err != nil || len(rows) == 0 || rows[0].Tag != "alpha" || rows[0].Used[limit.Requests] != 2 {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestBrokenTagsAreRefused(t *testing.T) {
	h := build(t)
	got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["search"], "Sluice-Tag", "Project=alpha")
	got.wants(t, 400, "authenticate/tags", "InvalidParameter")
	if !strings.Contains(got.body, "Header Sluice-Tag: pair 1 is not valid, allowed: name=value of at most 64 bytes") {
		t.Error(got.body)
	}
}

// A quota of each value refuses as a quota does, names the value, and does not affect other values.
func TestTagQuotaRefuses(t *testing.T) {
	h := build(t, limited("tag_key: project", "tag_quotas: {requests: {day: 2}}"), func(p *plan) { p.config.OpenAI = true })
	ask := func(tag string) reading {
		if tag == "" {
			return h.ask("POST", textPath, textBody)
		}
		return h.ask("POST", textPath, textBody, "Sluice-Tag", tag)
	}
	for _, tag := range []string{"project=alpha,user=1", "user=2", "project=beta"} {
		for n := range 2 {
			got := ask(tag)
			if want := `"requests-day-tag";r=` + []string{"1", "0"}[n] + ";t="; got.status != 200 ||
				!strings.HasPrefix(got.header.Get("Ratelimit"), want) || got.header.Get("Ratelimit-Policy") != `"requests-day-tag";q=2;w=86400` {
				t.Fatalf("%s: %d %s, %s", tag, got.status, got.header.Get("Ratelimit-Policy"), got.header.Get("Ratelimit"))
			}
		}
	}
	h.records.await(t, 6)
	for tag, want := range map[string]string{
		"project=alpha": "Team search has 0 left of its quota requests-day-tag of 2 for project alpha, and this request may cost 1; it " +
			"resets in ",
		"user=3": "Team search has 0 left of its quota requests-day-tag of 2 for requests without project, and this request may cost " +
			"1; it resets in ",
		"": "Team search has 0 left of its quota requests-day-tag of 2 for requests without project, and this request may cost 1; it resets in ",
	} {
		got := ask(tag)
		got.wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
		if !strings.HasPrefix(got.member(t, "message"), want) || len(got.header.Get("Retry-After")) < 1 {
			t.Errorf("%s: %s, Retry-After %s", tag, got.body, got.header.Get("Retry-After"))
		}
	}
	if got := ask("project=gamma"); got.status != 200 {
		t.Errorf("another value: %d %s", got.status, got.body)
	}
	chat := h.ask("POST", "/v1/chat/completions", `{"model":"llm-max","messages":[{"role":"user","content":"Rivers."}]}`, "Sluice-Tag",
		"project=alpha")
	if chat.status != 429 || !strings.Contains(chat.body, "for project alpha") || chat.header.Get("Sluice-Refusal") != "admit/quota" {
		t.Errorf("by OpenAI's interface: %d %s", chat.status, chat.body)
	}
}

// A request that can never fit is refused as such immediately, and a spend quota of the tag needs a price.
func TestTagQuotaNever(t *testing.T) {
	h := build(t, limited("tag_key: project", "tag_quotas: {images: {day: 2}, spend: {month: 5}}"), func(p *plan) {
		p.teams = "prices: [{model: \"gen2.6-*\", image: 0.2}]\n"
	})
	four := strings.Replace(imageBody, `"n":1`, `"n":4`, 1)
	got := h.ask("POST", imagePath, four, "X-Service-Async", "enable", "Sluice-Tag", "project=alpha")
	got.wants(t, 400, "admit/never", "InvalidParameter")
	if !strings.Contains(got.body, "team search is allowed 2 of images per day for project alpha.") {
		t.Error(got.body)
	}
	h.ask("POST", textPath, textBody).wants(t, 403, "inspect/model", "Model.AccessDenied")
}

// A task's images are held by its value until its end is seen, and given back if it is cancelled.
func TestTagQuotaOfTasks(t *testing.T) {
	claims := new(*cache.Claims)
	h, clock := tasked(t, limited("tag_key: project", "tag_quotas: {images: {day: 5}}"), func(p *plan) {
		p.sim.Pending = time.Minute
		*claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.claims = *claims
	})
	clock.move(36*time.Hour - clock.now().Sub(clock.now().UTC().Truncate(24*time.Hour))) // noon: the day does not end meanwhile
	four := strings.Replace(imageBody, `"n":1`, `"n":4`, 1)
	create := func(tag string) reading {
		return h.ask("POST", imagePath, four, "X-Service-Async", "enable", "Sluice-Tag", tag)
	}
	first := create("project=alpha").member(t, "output", "task_id")
	if claim, ok, err := (*claims).Get(t.Context(), "search", first); !ok || err != nil || claim.Hold.Tag != "@alpha" {
		t.Errorf("its claim has the tag %q, %v, %v", claim.Hold.Tag, ok, err)
	}
	create("project=alpha").wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	other := create("project=beta").member(t, "output", "task_id")
	clock.move(6 * time.Second)
	if got := h.cancel(first); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := create("project=alpha"); got.status != 200 {
		t.Errorf("after the cancel: %d %s", got.status, got.body)
	}
	for range 5 {
		clock.move(time.Minute)
		h.poll(other)
	}
	create("project=beta").wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	used := map[string]string{}
	for _, limit := range h.tagLimits(t) {
		used[limit.Tag] += limit.Used.String() + " used " + limit.Held.String() + " held"
	}
	if used["beta"] != "4 used 0 held" {
		t.Errorf("%v", used)
	}
}

type tagLimit struct {
	Tag, Unit, Period, Reset string
	Limit, Used, Held, Left  json.Number
}

// tagLimits are the standings of the values in the team's report.
func (h *harness) tagLimits(t *testing.T) []tagLimit {
	t.Helper()
	got := h.ask("GET", "/sluice/v1/usage?tags", "")
	var body struct{ Tags []tagLimit }
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != 200 || body.Tags == nil {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return body.Tags
}

// A team gets the standings of the values of its tag, if it asks.
func TestUsageOfTags(t *testing.T) {
	h := build(t, limited("tag_key: project", "tag_quotas: {requests: {day: 9}}"))
	if got := h.ask("GET", "/sluice/v1/usage", ""); strings.Contains(got.body, `"tags"`) {
		t.Errorf("it did not ask: %s", got.body)
	}
	if list := h.tagLimits(t); len(list) != 0 {
		t.Errorf("no request yet: %v", list)
	}
	for _, tag := range []string{"project=alpha", "user=1", "project=alpha"} {
		h.ask("POST", textPath, textBody, "Sluice-Tag", tag)
	}
	h.records.await(t, 5)
	list := h.tagLimits(t)
	if len(list) != 2 || list[0].Tag != "alpha" || list[0].Used.String() != "2" || list[0].Left.String() != "7" ||
		list[0].Unit != "requests" || list[0].Period != "day" || list[1].Tag != "" || list[1].Limit.String() != "9" {
		t.Errorf("%+v", list)
	}
	if got := h.ask("GET", "/sluice/v1/usage?tags&days=1", "", "Authorization", "Bearer "+h.keys["shop"]); !strings.Contains(got.body,
		`"tags":[]`) {
		t.Errorf("a team without such quotas: %s", got.body)
	}
}

// A refusal by the team's own quota is remembered for all of its requests. It does not reveal the standing of another value.
func TestARememberedRefusalTellsNoValue(t *testing.T) {
	h := build(t, limited("quotas: {requests: {day: 2}}", "tag_key: project", "tag_quotas: {requests: {day: 7}}"))
	for range 2 {
		h.ask("POST", textPath, textBody, "Sluice-Tag", "project=alpha")
	}
	h.records.await(t, 2)
	for n, tag := range []string{"project=alpha", "project=beta"} {
		got := h.ask("POST", textPath, textBody, "Sluice-Tag", tag)
		got.wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
		if limits := got.header.Get("Ratelimit"); !strings.HasPrefix(limits, `"requests-day";r=0;t=`) ||
			n > 0 && strings.Contains(limits, `-tag";r=5`) {
			t.Errorf("%s: %s", tag, limits)
		}
	}
}
