package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A team sees its standing in every limit, and its requests in flight.
func TestUsage(t *testing.T) {
	h := build(t, limited("models: [\"llm-*\", \"gen2.6-*\"]", "rates: {requests: {per: 1m, limit: 60, burst: 20}}",
		"quotas: {images: {day: 8}, requests: {month: 100}}", "concurrent: 4", "open_tasks: 3"))
	task := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	got := h.ask("GET", "/sluice/v1/usage", "")
	id := got.header.Get("Sluice-Request-Id")
	if got.status != 200 || !strings.HasPrefix(got.body, `{"request_id":"`+id+`","team":"search","models":["llm-*","gen2.6-*"],"endpoints":["text","multimodal","image","tasks"],"limits":[{"unit":"requests","period":"1m","limit":60,"used":1,"held":0,"left":19,"reset":"`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, want := range []string{
		`{"unit":"requests","period":"month","limit":100,"used":0,"held":1,"left":99,"reset":"`,
		`{"unit":"images","period":"day","limit":8,"used":0,"held":1,"left":7,"reset":"`,
		`"concurrent":{"limit":4,"used":0}`, `"open_tasks":{"limit":3,"used":1,"tasks":[{"task_id":"` + task + `","model":"gen2.6-image","status":"PENDING"}]}}`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s is missing in %s", want, got.body)
		}
	}
	if !json.Valid([]byte(got.body)) {
		t.Errorf("no JSON: %s", got.body)
	}
	h.ask("GET", "/sluice/v1/usage", "", "Authorization", "Bearer nobody").wants(t, 401, "authenticate/key", "InvalidApiKey")
	h.ask("POST", "/sluice/v1/usage", "{}").wants(t, 405, "route/method", "InvalidParameter")
	h.ask("GET", "/sluice/v1/other", "").wants(t, 404, "route/path", "NotFound")
}

// TestNoLimitIsNull: a missing limit is null, not 0: a quota of 0 admits nothing.
func TestNoLimitIsNull(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 0}}"))
	for team, limits := range map[string]string{"shop": `[]`, "search": `[{"unit":"images","period":"day","limit":0,"used":0,"held":0,"left":0,"reset":"`} {
		got := h.ask("GET", "/sluice/v1/usage", "", "Authorization", "Bearer "+h.keys[team])
		if !strings.Contains(got.body, `"limits":`+limits) || !strings.Contains(got.body, `"concurrent":{"limit":null,"used":0},"open_tasks":{"limit":null,"used":0,"tasks":[]}`) {
			t.Errorf("team %s: %s", team, got.body)
		}
	}
}

// A key that sends broken requests without end is told to wait; its team's other keys and the well-formed requests of other
// teams are not.
func TestBroken(t *testing.T) {
	at := time.Now() // the clock stands still: on a slow machine the requests take seconds, in which others may come
	h := build(t, func(p *plan) { p.now = func() time.Time { return at } })
	refused := 0
	for range 260 {
		if got := h.ask("POST", textPath, "{"); got.status == 429 {
			got.wants(t, 429, "throttle/broken", "Throttling.RateQuota")
			refused++
		}
	}
	if refused == 0 {
		t.Error("260 broken requests at once, and none was too many")
	}
	if got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"]); got.status != 200 {
		t.Errorf("another team: %d %s", got.status, got.body)
	}
}

// Broken requests are those refused for their content, not for their team or their time.
func TestWhatCountsAsBroken(t *testing.T) {
	at := time.Now() // the clock stands still, so that two hundred may come and no more
	for name, tt := range map[string]struct {
		path, body string
		header     []string
		want       bool
	}{
		"media type": {textPath, textBody, []string{"Content-Type", "text/plain"}, true},
		"encoding":   {textPath, textBody, []string{"Content-Encoding", "gzip"}, true},
		"size":       {textPath, textBody + strings.Repeat(" ", 500), nil, true},
		"body":       {textPath, "{", nil, true},
		"rules":      {textPath, `{"model":"llm-max"}`, nil, true},
		"path":       {"/x", textBody, nil, false},
		"model":      {textPath, strings.Replace(textBody, "llm-max", "llm-min", 1), nil, false},
		"good":       {textPath, textBody, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t, limited("models: [llm-max]"), func(p *plan) { p.now, p.config.MaxBody = func() time.Time { return at }, 500 })
			for range 200 {
				h.ask("POST", tt.path, tt.body, tt.header...)
			}
			h.records.await(t, 200)
			got := h.ask("POST", textPath, textBody)
			if tt.want {
				got.wants(t, 429, "throttle/broken", "Throttling.RateQuota")
			} else if got.status != 200 {
				t.Errorf("the next is answered %d %s", got.status, got.body)
			}
		})
	}
}
