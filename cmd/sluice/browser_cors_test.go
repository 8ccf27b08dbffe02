package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/simulator"
)

// fetchInPage is a page's call: what its script could read of the answer, or the browser's error.
const fetchInPage = `(async (address, init) => {
	try {
		const answer = await fetch(address, init);
		const pieces = answer.body.pipeThrough(new TextDecoderStream());
		let body = '';
		for await (const piece of pieces) body += piece;
		return {status: answer.status, header: Object.fromEntries(answer.headers), body};
	} catch (error) {
		return {error: String(error)};
	}
})(%s, %s)`

type pageAnswer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"` // names in lower case
	Body   string            `json:"body"`
	Error  string            `json:"error"`
}

// pageCall is what a script gives to fetch.
type pageCall struct {
	Method      string            `json:"method"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body,omitempty"`
	Credentials string            `json:"credentials,omitempty"`
	path        string
}

// keyed is a call with the team's key.
func keyed(method, path, body string, headers map[string]string) pageCall {
	all := map[string]string{"Authorization": "Bearer test"}
	if body != "" {
		all["Content-Type"] = "application/json"
	}
	maps.Copy(all, headers)
	return pageCall{Method: method, Headers: all, Body: body, path: path}
}

// fetch makes the call from the page that is open in ctx.
func (c pageCall) fetch(ctx context.Context, t *testing.T, base string) pageAnswer {
	t.Helper()
	address, err := json.Marshal(base + c.path)
	must(t, err)
	init, err := json.Marshal(c)
	must(t, err)
	return browsertest.Evaluate[pageAnswer](ctx, t, fmt.Sprintf(fetchInPage, address, init))
}

const (
	pageChat = `{"model":"llm-plus","messages":[{"role":"user","content":"What is a sluice?"}]`
	pageText = `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"What is a sluice?"}]},` +
		`"parameters":{"result_format":"message"`
	pageImage = `{"model":"gen2.5-t2i","input":{"messages":[{"role":"user","content":[{"text":"A mill"}]}]},"parameters":{"n":1}}`
)

var (
	streamHeader = map[string]string{"X-Service-SSE": "enable"}
	taskHeader   = map[string]string{"X-Service-Async": "enable"}
	pageCalls    = map[string]pageCall{
		"chat":          keyed("POST", "/v1/chat/completions", pageChat+`}`, map[string]string{"X-Stainless-Lang": "js"}),
		"chat's stream": keyed("POST", "/v1/chat/completions", pageChat+`,"stream":true}`, nil),
		"models":        keyed("GET", "/v1/models", "", nil),
		"text":          keyed("POST", "/api/v1"+textPath, pageText+`}}`, nil),
		"text's stream": keyed("POST", "/api/v1"+textPath, pageText+`,"incremental_output":true}}`, streamHeader),
		"task":          keyed("POST", "/api/v1"+imagePath, pageImage, taskHeader),
		"list":          keyed("GET", "/api/v1/tasks", "", nil),
	}
)

// newSite serves an empty page from another origin.
func newSite(t *testing.T) (origin string) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>chat</title>"))
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// TestPagesInABrowserCall: a real browser sends the preflights, judges the answers and hides headers.
func TestPagesInABrowserCall(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	listed := newSite(t)
	_, upstream := newService(t, simulator.Config{Running: 10 * time.Millisecond, TaskRate: -1})
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, sdkTeams), "SLUICE_POLL_INTERVAL=100ms",
		"SLUICE_CORS_ORIGINS=https://chat.example,"+listed)
	browsertest.Open(tab, t, listed)
	base := "http://" + h.public
	for name, want := range map[string]struct{ contentType, body string }{
		"chat":          {"application/json", `"object":"chat.completion"`},
		"chat's stream": {"text/event-stream", "data: [DONE]\n\n"},
		"models":        {"application/json", `"id":"llm-plus"`},
		"text":          {"application/json", `"choices"`},
		"text's stream": {"text/event-stream", `"finish_reason":"stop"`},
		"task":          {"application/json", `"task_id"`},
		"list":          {"application/json", `"data"`},
	} {
		got := pageCalls[name].fetch(tab, t, base)
		if got.Status != http.StatusOK || !strings.HasPrefix(got.Header["content-type"], want.contentType) ||
			!strings.Contains(got.Body, want.body) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Header["sluice-request-id"] == "" || got.Header["vary"] != "" { // only the first is exposed
			t.Errorf("%s: the page reads the headers %q", name, got.Header)
		}
	}
	wrong := pageCalls["chat"]
	wrong.Headers = map[string]string{"Authorization": "Bearer wrong"}
	if got := wrong.fetch(tab, t, base); got.Status != http.StatusUnauthorized || got.Header["sluice-refusal"] == "" ||
		!strings.Contains(got.Body, `"error"`) {
		t.Errorf("a wrong key: %+v", got)
	}
	image := keyed("POST", "/v1/images/generations", `{"model":"gen2.5-t2i","prompt":"A mill"}`, nil)
	if got := image.fetch(tab, t, base); got.Status != http.StatusOK || got.Header["sluice-task"] == "" {
		t.Errorf("an image: %+v", got)
	}
	cookies := pageCalls["chat"]
	cookies.Credentials = "include"
	if got := cookies.fetch(tab, t, base); got.Error == "" {
		t.Errorf("a call with cookies: %+v", got)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}

// TestPagesOfOtherOriginsInABrowserReadNothing, and a call with a key does not even leave the browser.
func TestPagesOfOtherOriginsInABrowserReadNothing(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	listed, other := newSite(t), newSite(t)
	service, upstream := newService(t, simulator.Config{})
	for name, tt := range map[string]struct{ origin, setting string }{
		"another origin": {other, listed},
		"no origins":     {listed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, sdkTeams), "SLUICE_CORS_ORIGINS="+tt.setting)
			browsertest.Open(tab, t, tt.origin)
			calls := maps.Clone(pageCalls)
			calls["chat that needs no preflight"] = pageCall{Method: "POST", path: "/v1/chat/completions", Body: pageChat + `}`}
			calls["text that needs no preflight"] = pageCall{Method: "POST", path: "/api/v1" + textPath, Body: pageText + `}}`}
			for name, call := range calls {
				if got := call.fetch(tab, t, "http://"+h.public); got.Status != 0 || !strings.Contains(got.Error, "TypeError") {
					t.Errorf("%s: %+v", name, got)
				}
			}
			if code := h.stop(); code != exitClean {
				t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
			}
		})
	}
	if asked := service.Tally().Requests; len(asked) > 0 {
		t.Errorf("the service was asked for %v", asked)
	}
}
