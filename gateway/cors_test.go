package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"sluice/policy/limit"
)

const page = "https://chat.example"

func forPages(p *plan) { p.config.CORSOrigins = []string{page, "http://localhost:3000"} }

// preflight sends what a browser sends before a page's request: without a key.
func (h *harness) preflight(path, method, origin string, headers ...string) reading {
	h.Helper()
	return h.ask(http.MethodOptions, path, "", append([]string{"Authorization", "", "Origin", origin, "Access-Control-Request-Method",
		method}, headers...)...)
}

// allowance are the headers by which a browser decides.
func (r reading) allowance() map[string]string {
	found := make(map[string]string)
	for name := range r.header {
		if short, ok := strings.CutPrefix(name, "Access-Control-"); ok {
			found[short] = strings.Join(r.header[name], "|")
		}
	}
	return found
}

func TestPreflightsOfListedOriginsNeedNoKey(t *testing.T) {
	h := fronted(t, forPages)
	const wished = "authorization,content-type,x-service-sse,x-stainless-lang"
	for path, method := range map[string]string{textPath: "POST", imagePath: "POST", tasksPath: "GET", tasksPath + "/abc": "GET",
		"/sluice/v1/usage": "GET", frontChats: "POST", frontModels: "GET", frontImages: "POST", frontTasks + "abc": "GET"} {
		got := h.preflight(path, method, page, "Access-Control-Request-Headers", wished)
		allowance := got.allowance()
		if got.status != http.StatusNoContent || got.body != "" || allowance["Allow-Origin"] != page || allowance["Allow-Methods"] != method ||
			allowance["Allow-Headers"] != wished || allowance["Max-Age"] != "7200" {
			t.Errorf("%s %s: %d %v", method, path, got.status, allowance)
		}
		if _, ok := allowance["Allow-Credentials"]; ok {
			t.Errorf("%s %s allows credentials", method, path)
		}
		if !strings.Contains(got.header.Get("Vary"), "Origin") {
			t.Errorf("%s %s: Vary is %q", method, path, got.header.Get("Vary"))
		}
	}
	if got := h.preflight(textPath, "POST", "http://localhost:3000").allowance(); got["Allow-Origin"] != "http://localhost:3000" ||
		got["Allow-Headers"] != "" {
		t.Errorf("the second origin without headers gets %v", got)
	}
	for _, r := range h.records.await(t, 10) {
		if r.Method != http.MethodOptions || r.Status != http.StatusNoContent || r.Route == "" || r.Team != "" || r.Refusal != "" {
			t.Errorf("recorded as %s %s, %d, team %q, refusal %q", r.Method, r.Route, r.Status, r.Team, r.Refusal)
		}
	}
}

func TestPreflightsForWhatIsNotServedAreRefusedReadably(t *testing.T) {
	h := fronted(t, forPages)
	for _, tt := range []struct {
		path, method string
		status       int
		row          string
	}{
		{"/metrics", "GET", 404, "route/path"},
		{textPath, "GET", 405, "route/method"},
		{textPath, "OPTIONS", 405, "route/method"},
		{textPath, "CONNECT", 405, "route/method"},
		{textPath, "", 405, "route/method"},
		{frontChats, "GET", 405, "route/method"},
		{"/v1/embeddings", "POST", 404, "route/path"},
	} {
		got := h.preflight(tt.path, tt.method, page)
		if allowance := got.allowance(); got.status != tt.status || got.header.Get("Sluice-Refusal") != tt.row ||
			allowance["Allow-Origin"] != page || allowance["Allow-Methods"] != "" {
			t.Errorf("%s %s: %d %s %v", tt.method, tt.path, got.status, got.header.Get("Sluice-Refusal"), allowance)
		}
	}
}

// TestOtherOriginsAreToldNothing: only the browser of a listed origin's page lets it read an answer.
func TestOtherOriginsAreToldNothing(t *testing.T) {
	h := build(t, forPages)
	for _, origin := range []string{
		"", "null", "*", "https://chat.example.evil.example", "https://chat.example:8443", "http://chat.example", "https://chat.example/",
		"HTTPS://CHAT.EXAMPLE", "https://chat.example, https://evil.example", "https://evilchat.example",
	} {
		for what, got := range map[string]reading{
			"a preflight": h.preflight(textPath, "POST", origin), "a call": h.ask("POST", textPath, textBody, "Origin", origin),
		} {
			if allowance := got.allowance(); len(allowance) > 0 || got.header.Get("Vary") != "Origin" {
				t.Errorf("%s of %q: %v, Vary %q", what, origin, allowance, got.header.Get("Vary"))
			}
		}
		h.preflight(textPath, "POST", origin).wants(t, http.StatusMethodNotAllowed, "route/method", "InvalidParameter")
	}
	twice := h.request("POST", textPath, textBody)
	twice.Header["Origin"] = []string{page, page}
	if allowance := h.send(twice).allowance(); len(allowance) > 0 {
		t.Errorf("two origins get %v", allowance)
	}
}

// TestPagesReadAnswersAndRefusals: answers of the service, streams, Sluice's own answers and refusals of each stage.
func TestPagesReadAnswersAndRefusals(t *testing.T) {
	h := fronted(t, forPages, func(p *plan) { p.limits = []string{"quotas: {images: {day: 1}}", `models: ["llm-*", "gen*"]`} })
	created := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable", "Origin", page)
	for what, tt := range map[string]struct {
		reading
		status int
	}{
		"text":         {h.ask("POST", textPath, textBody, "Origin", page), 200},
		"a stream":     {h.ask("POST", textPath, textBody, "Origin", page, "X-Service-SSE", "enable"), 200},
		"a task":       {created, 200},
		"a poll":       {h.ask("GET", tasksPath+"/"+created.member(t, "output", "task_id"), "", "Origin", page), 200},
		"a list":       {h.ask("GET", tasksPath, "", "Origin", page), 200},
		"usage":        {h.ask("GET", "/sluice/v1/usage", "", "Origin", page), 200},
		"no key":       {h.ask("POST", textPath, textBody, "Origin", page, "Authorization", ""), 401},
		"broken rules": {h.ask("POST", textPath, `{"model":"llm-max"}`, "Origin", page), 400},
		"no such task": {h.ask("GET", tasksPath+"/unknown", "", "Origin", page), 404},
		"a chat":       {h.ask("POST", frontChats, frontChat, "Origin", page), 200},
		"its stream":   {h.ask("POST", frontChats, strings.Replace(frontChat, "{", `{"stream":true,`, 1), "Origin", page), 200},
		"models":       {h.ask("GET", frontModels, "", "Origin", page), 200},
		"no chat":      {h.ask("POST", frontChats, frontChat, "Origin", page, "Authorization", ""), 401},
		"a bad chat":   {h.ask("POST", frontChats, `{"model":"llm-max"}`, "Origin", page), 400},
		"a full quota": {h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable", "Origin", page), 429},
	} {
		allowance := tt.allowance()
		if tt.status != tt.reading.status || allowance["Allow-Origin"] != page || tt.header.Get("Vary") != "Origin" || len(allowance) != 2 {
			t.Errorf("%s: %d %v, Vary %q", what, tt.reading.status, allowance, tt.header.Get("Vary"))
		}
		for name := range tt.header {
			switch name {
			case "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary", "Date", "Content-Length", "Content-Type", "Cache-Control",
				"X-Content-Type-Options", "Connection":
			default:
				if !strings.Contains(", "+strings.ToLower(allowance["Expose-Headers"])+", ", ", "+strings.ToLower(name)+", ") {
					t.Errorf("%s has %s, which the page cannot read", what, name)
				}
			}
		}
	}
}

// TestWithoutTheSettingNoAnswerMentionsOrigins: the native routes' answers stay as they were.
func TestWithoutTheSettingNoAnswerMentionsOrigins(t *testing.T) {
	h := build(t)
	for what, got := range map[string]reading{
		"a preflight": h.preflight(textPath, "POST", page), "a call": h.ask("POST", textPath, textBody, "Origin", page),
	} {
		if allowance := got.allowance(); len(allowance) > 0 || got.header.Get("Vary") != "" {
			t.Errorf("%s: %v, Vary %q", what, allowance, got.header.Get("Vary"))
		}
	}
	h.preflight(textPath, "POST", page).wants(t, http.StatusMethodNotAllowed, "route/method", "InvalidParameter")
}

// TestAPreflightStaysHere: the service sees none, on forwarded paths either.
func TestAPreflightStaysHere(t *testing.T) {
	h := build(t, forPages, forwarding("uploads"), func(p *plan) {
		p.upstream = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the service saw a request") })
	})
	for path, method := range map[string]string{imagePath: "POST", "/api/v1/uploads": "DELETE"} {
		if got := h.preflight(path, method, page, "X-Service-Async", "enable"); got.status != http.StatusNoContent {
			t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
		}
	}
	for _, r := range h.records.await(t, 2) {
		if r.Held.Amounts[limit.Requests]+r.Held.Amounts[limit.Images] > 0 || r.Task != "" {
			t.Errorf("%s holds %v for task %q", r.Route, r.Held, r.Task)
		}
	}
}
