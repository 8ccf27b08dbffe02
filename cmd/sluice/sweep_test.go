package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/simulator"
	"sluice/policy/teams"
)

// canaries are strings that may be found only where they belong. All begin with the same letters, so that secret scanners
// can be configured to ignore them.
var canaries = struct{ upstreamKey, redis, prompt, picture, query, trace, cookie, wrongKey, agent, address, requestID string }{
	upstreamKey: "CANARY-upstream-key-0b5f2a91c7",
	redis:       "CANARY-redis-password-6e1d44",
	prompt:      "CANARY-prompt-what-is-a-sluice-93ab",
	picture:     "CANARY-picture-0fd1/bytes",
	query:       "CANARY-query-77e0",
	trace:       "ca9a71ca9a71ca9a71ca9a71ca9a71ca",
	cookie:      "CANARY-cookie-c5d2",
	wrongKey:    "CANARY-wrong-key-18d3",
	agent:       "CANARY-agent-2b61",
	address:     "203.0.113.77",
	requestID:   "CANARY-request-id-9a7",
}

// spellings are the forms in which a secret may hide in a text: plain, encoded, or cut short.
func spellings(secret string) []string {
	quoted, _ := json.Marshal(secret)
	return []string{
		secret, secret[:12],
		base64.StdEncoding.EncodeToString([]byte(secret))[:16],
		hex.EncodeToString([]byte(secret)),
		url.QueryEscape(secret),
		strings.Trim(string(quoted), `"`),
	}
}

// sweep fails when one of the secrets is in the text in any spelling.
func sweep(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if excerpt := betrayed(text, secret); excerpt != "" {
			t.Errorf("%s shows a secret: …%s…", where, excerpt)
		}
	}
}

// betrayed returns the part of the text that shows the secret; "": none does.
func betrayed(text, secret string) string {
	for _, spelling := range spellings(secret) {
		if i := strings.Index(text, spelling); i >= 0 {
			return fmt.Sprintf("%.160s", text[max(0, i-60):])
		}
	}
	return ""
}

func TestASweepFindsEverySpelling(t *testing.T) {
	const secret = `CANARY "key" & more`
	for _, text := range []string{
		secret, "CANARY \"key\"", "CANARY+%22key%22+%26+more", "Q0FOQVJZICJrZXkiICYgbW9yZQ==", "43414e41525920226b6579222026206d6f7265",
		`{"a":"CANARY \"key\" \u0026 more"}`,
	} {
		if betrayed("before "+text+" after", secret) == "" {
			t.Errorf("%s is not found", text)
		}
	}
	if excerpt := betrayed("nothing of the kind", secret); excerpt != "" {
		t.Errorf("found %q", excerpt)
	}
}

// TestCanarySweep sends requests of every kind with a canary in each place that holds something secret
// or private, lets the service betray the key, and then reads the whole output.
func TestCanarySweep(t *testing.T) {
	t.Parallel()
	minted, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	teamKey := minted.Reveal()
	service, upstream := newService(t, simulator.Config{})
	service.SetKeys("", canaries.upstreamKey)
	h := serving(t, upstream.URL, "SLUICE_UPSTREAM_KEY="+canaries.upstreamKey, "SLUICE_REDIS_URL=redis://:"+canaries.redis+"@127.0.0.1",
		"SLUICE_LOG_LEVEL=debug", "SLUICE_FORWARD_PATHS=uploads",
		"SLUICE_TEAMS_FILE="+write(t, "teams:\n  - id: search\n    endpoints: [text, multimodal, image, tasks, other]\n    keys:\n"+
			minted.Lines()))
	client := newClient(t)
	answers := visit(t, client, "http://"+h.public, teamKey)
	service.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 400, Message: "The key " + canaries.upstreamKey + " is overdue."}})
	answers += visit(t, client, "http://"+h.public, teamKey)
	service.SetFault(simulator.Fault{Drop: "reset"})
	answers += visit(t, client, "http://"+h.public, teamKey)
	service.SetKeys("", "changed")
	service.SetFault()
	answers += visit(t, client, "http://"+h.public, teamKey)
	for _, path := range []string{"/healthz?verbose", "/readyz?verbose", "/debug/pprof/cmdline", "/metrics", "/usage",
		"/elsewhere?" + canaries.query} {
		_, text, err := ask(client, "http://"+h.admin, path, "")
		if err != nil {
			t.Fatal(err)
		}
		sweep(t, "the admin listener's "+path, text, canaries.upstreamKey, canaries.redis, teamKey)
	}
	client.CloseIdleConnections()
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}

	c := canaries
	sweep(t, "an answer", answers, c.upstreamKey, c.redis, c.query, c.trace, c.cookie, c.wrongKey, c.agent, c.address, c.requestID, teamKey,
		simulator.LeakMark)
	sweep(t, "the log", string(h.log.bytes()), c.upstreamKey, c.redis, c.prompt, c.picture, c.query, c.cookie, c.wrongKey, c.agent, c.address,
		c.requestID, teamKey, simulator.LeakMark)
	if n := bytes.Count(h.log.bytes(), []byte(`"msg":"request"`)); n < 4*len(visits) {
		t.Errorf("only %d requests are in the log that was swept, want %d", n, 4*len(visits))
	}
	for _, received := range service.Requests() {
		sweepUpstream(t, received, teamKey)
	}
	if violations := service.Violations(); violations != nil {
		t.Errorf("the service saw an impossible request: %q", violations)
	}
}

// sweepUpstream: the service gets its key in one header, the body, and nothing else from the client.
func sweepUpstream(t *testing.T, received simulator.Received, teamKey string) {
	t.Helper()
	if got := received.Header.Values("Authorization"); !slices.Equal(got, []string{"Bearer " + canaries.upstreamKey}) {
		t.Errorf("%s %s: %d Authorization headers, or not the service's key", received.Method, received.Path, len(got))
	}
	received.Header.Del("Authorization")
	text := fmt.Sprint(received.Method, received.Path, received.Header)
	if !strings.Contains(received.Path, "uploads") { // whose query the client may send
		text += received.Query
	}
	c := canaries
	sweep(t, "what the service got", text, c.upstreamKey, c.redis, c.query, c.trace, c.cookie, c.wrongKey, c.agent, c.address, c.requestID,
		teamKey)
}

// visits are the requests of one round, by path; those with a body are posted.
var visits = []struct{ path, body, enable string }{
	{textPath, strings.ReplaceAll(demoText, "What is a sluice?", canaries.prompt), ""},
	{textPath, strings.ReplaceAll(demoText, "What is a sluice?", canaries.prompt), "X-Service-SSE"},
	{multimodalPath, strings.ReplaceAll(demoPicture, "A mill by a river", canaries.prompt), ""},
	{imagePath, strings.ReplaceAll(demoEdit, "The same mill in winter", canaries.prompt), "X-Service-Async"},
	{imagePath, strings.ReplaceAll(demoEdit, "https://pictures.example/mill.png", "data:image/png;base64,"+canaries.picture),
		"X-Service-Async"},
	{textPath, `{"model":"` + canaries.prompt + `","model":1}`, ""},
	{textPath, `{"model":"llm-plus","input":{"messages":[{"role":"` + canaries.prompt + `"}]}}`, ""},
	{textPath, canaries.prompt, ""},
	{"/tasks/0000", "", ""},
	{"/tasks?model_name=x", "", ""},
	{"/uploads?action=" + canaries.query, "", ""},
	{"/elsewhere?" + canaries.query, "", ""},
}

// visit sends every request of a round, the first one also with each invalid key, and returns all answers, headers
// included.
func visit(t *testing.T, client *http.Client, base, key string) string {
	t.Helper()
	var answers strings.Builder
	for i, v := range visits {
		keys := []string{key}
		if i == 0 {
			keys = append(keys, canaries.wrongKey, canaries.upstreamKey)
		}
		for _, key := range keys {
			answers.WriteString(callOnce(t, client, base+"/api/v1"+v.path, v.body, v.enable, key))
		}
	}
	return answers.String()
}

func callOnce(t *testing.T, client *http.Client, address, body, enable, key string) string {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + key, "Content-Type": "application/json", enable: "enable", "Cookie": "session=" + canaries.cookie,
		"Traceparent": "00-" + canaries.trace + "-00f067aa0ba902b7-01", "User-Agent": canaries.agent, "X-Forwarded-For": canaries.address,
		"X-Request-Id": canaries.requestID,
	} {
		if name != "" {
			request.Header.Set(name, value)
		}
	}
	answer, err := client.Do(request)
	if err != nil {
		return "" // cut, as a fault of the service does it
	}
	defer func() { _ = answer.Body.Close() }()
	content, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.Status, answer.Header) + string(content)
}

func TestWhatLibrariesLogGoesTheSameWay(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	before := slog.Default()
	defer slog.SetDefault(before)
	h := serving(t, upstream.URL)
	slog.Info("a library's line")
	if _, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"a library's line"`)); err != nil {
		t.Error(err)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}
