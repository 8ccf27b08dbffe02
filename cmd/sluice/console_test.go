package main

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/simulator"
	"sluice/telemetry"
)

const operatorsToken = "operators-token-CANARY"

// consoleOf waits for a serve's console and returns its address.
func consoleOf(t testing.TB, h *house) string {
	t.Helper()
	return find(t, h.log, `"msg":"console","listen":"[^"]+","url":"([^"]+)"`)
}

// find waits until an output matches and returns the first group.
func find(t testing.TB, out *transcript, pattern string) string {
	t.Helper()
	waiting, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	match, err := out.find(waiting, regexp.MustCompile(pattern))
	if err != nil {
		t.Fatalf("%v; wanted %s in\n%s", err, pattern, out.bytes())
	}
	return string(match[1])
}

// signedIn is on every page of a logged-in person, if the name needs no escaping.
func signedIn(name, role string) string {
	return "<bdi>" + name + "</bdi></a> <small>" + role + "</small>"
}

// newBrowser is a client with cookies that follows redirects.
func newBrowser(t testing.TB) *http.Client {
	t.Helper()
	client := newClient(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Jar = jar
	return client
}

// visitPage gets a page, or sends a form.
func visitPage(t testing.TB, client *http.Client, address string, form url.Values) (status int, body string) {
	t.Helper()
	var answer *http.Response
	var err error
	if form == nil {
		answer, err = client.Get(address)
	} else {
		answer, err = client.PostForm(address, form)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// apiStatus sends the operator's token and returns the status: 404 for a token that is accepted, as there is nothing at that path.
func apiStatus(t *testing.T, client *http.Client, console, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, console+"/api/v1/nothing", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestTheConsolePrintsALinkAndNeverLogsIt(t *testing.T) {
	_, service := newService(t, simulator.Config{})
	ctx, sigterm := context.WithCancel(context.Background())
	out, shown, code := newTranscript(), newTranscript(), make(chan int, 1)
	environ := servingEnviron(t, service.URL, "SLUICE_LOG_LEVEL=debug", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0")
	go func() { code <- run(ctx, program{environ, out, shown}, []string{"serve"}) }()
	link := find(t, shown, `# The console, for one login within ten minutes: (http://127\.0\.0\.1:\d+/login\?code=\S{43})\n`)
	browser := newBrowser(t)
	if status, body := visitPage(t, browser, link, nil); status != http.StatusOK || !strings.Contains(body, signedIn("link", "operator")) {
		t.Errorf("the link: %d %s", status, body)
	}
	if status, _ := visitPage(t, newBrowser(t), link, nil); status != http.StatusUnauthorized {
		t.Errorf("the second time: %d", status)
	}
	browser.CloseIdleConnections()
	sigterm()
	if c := <-code; c != exitClean {
		t.Errorf("exit code %d", c)
	}
	_, secret, _ := strings.Cut(link, "code=")
	if strings.Contains(string(out.bytes()), secret) {
		t.Error("the link is in the log")
	}
}

// TestNoLinkWhereThereIsAnotherWay: an operator who set a token, an issuer or an address does not want a link in the output.
func TestNoLinkWhereThereIsAnotherWay(t *testing.T) {
	for _, environ := range [][]string{
		{"SLUICE_CONSOLE_TOKEN_FILE=" + write(t, operatorsToken)},
		{"SLUICE_CONSOLE_URL=http://localhost:8082"},
		{"SLUICE_CONSOLE_LISTEN=0.0.0.0:0", "SLUICE_CONSOLE_URL=https://sluice.example"},
		{"SLUICE_CONSOLE_LISTEN=off"},
	} {
		h := serving(t, "http://127.0.0.1:1", append([]string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:0"}, environ...)...)
		if code := h.stop(); code != exitClean || strings.Contains(string(h.log.bytes()), "/login?code=") {
			t.Errorf("%v: %d\n%s", environ, code, h.log.bytes())
		}
	}
}

func TestTheConsoleFollowsTeamsAndToken(t *testing.T) {
	t.Parallel()
	file, token := write(t, someTeams), write(t, operatorsToken)
	h := serving(t, "http://127.0.0.1:1", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+token, "SLUICE_TEAMS_FILE="+file,
		"SLUICE_TEAMS_POLL=10ms")
	console, browser := consoleOf(t, h), newBrowser(t)
	if status, body := visitPage(t, browser, console+"/login", url.Values{"secret": {"test"}}); status != http.StatusOK ||
		!strings.Contains(body, signedIn("key:7f3k9q2m4x1c", "member")) {
		t.Fatalf("a team's key: %d %s", status, body)
	}
	if apiStatus(t, browser, console, operatorsToken) != http.StatusNotFound ||
		apiStatus(t, browser, console, "another-long-token-CANARY") != http.StatusUnauthorized {
		t.Error("the token is not accepted, or another one is")
	}
	must(t, os.WriteFile(file, []byte("teams:\n  - id: search\n"), 0o600))
	must(t, os.WriteFile(token, []byte("another-long-token-CANARY"), 0o600))
	eventually(t, func() bool {
		_, body := visitPage(t, browser, console+"/sessions", nil)
		return strings.Contains(body, "<title>Sign in")
	})
	for tries := 0; apiStatus(t, browser, console, "another-long-token-CANARY") != http.StatusNotFound; tries++ { // fewer than may fail
		if tries == 15 {
			t.Fatal("the new token does not count")
		}
		time.Sleep(2 * tokenEvery / 3)
	}
	if apiStatus(t, browser, console, operatorsToken) != http.StatusUnauthorized {
		t.Error("the old token still counts")
	}
	must(t, os.Remove(token))
	time.Sleep(tokenEvery)
	if apiStatus(t, browser, console, "another-long-token-CANARY") != http.StatusNotFound {
		t.Error("the last token went with its file")
	}
	find(t, h.log, `"msg":"console","warning":"(SLUICE_CONSOLE_TOKEN_FILE): no such file`)
	browser.CloseIdleConnections()
	if code := h.stop(); code != exitClean || strings.Contains(string(h.log.bytes()), "CANARY") {
		t.Errorf("exit code %d\n%s", code, h.log.bytes())
	}
}

// TestAnEndedSessionHasAnEntry, which the audit shows and proves; ending one's own session has no entry.
func TestAnEndedSessionHasAnEntry(t *testing.T) {
	h := serving(t, "http://127.0.0.1:1", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+write(t, operatorsToken),
		"SLUICE_TEAMS_FILE="+write(t, someTeams))
	console, operator, member := consoleOf(t, h), newBrowser(t), newBrowser(t)
	visitPage(t, operator, console+"/login", url.Values{"secret": {operatorsToken}})
	id := regexp.MustCompile(`name="id" value="([0-9a-f]{64})"`)
	_, page := visitPage(t, operator, console+"/sessions", nil)
	own := id.FindStringSubmatch(page)
	visitPage(t, member, console+"/login", url.Values{"secret": {"test"}})
	_, page = visitPage(t, operator, console+"/sessions", nil)
	for _, found := range id.FindAllStringSubmatch(page, -1) {
		if found[1] != own[1] {
			visitPage(t, operator, console+"/sessions/end", url.Values{"id": {found[1]}})
		}
	}
	if _, body := visitPage(t, member, console+"/now", nil); !strings.Contains(body, "<title>Sign in") {
		t.Errorf("the member's session goes on: %s", body)
	}
	_, audit := visitPage(t, operator, console+"/audit?verify=1", nil)
	if strings.Count(audit, "<code>session.end</code>") != 1 || !strings.Contains(audit, "key:7f3k9q2m4x1c") ||
		!strings.Contains(audit, "The only entry is as it was written") {
		t.Errorf("the audit: %s", audit)
	}
	visitPage(t, operator, console+"/sessions/end", url.Values{"id": {own[1]}})
	visitPage(t, operator, console+"/login", url.Values{"secret": {operatorsToken}})
	if _, again := visitPage(t, operator, console+"/audit", nil); strings.Count(again, "<code>session.end</code>") != 1 ||
		strings.Contains(again, own[1]) {
		t.Errorf("the audit has more: %s", again)
	}
	operator.CloseIdleConnections()
	member.CloseIdleConnections()
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// TestReplicasShareSessions: in Redis, and a session ended at one replica has ended at the other.
func TestReplicasShareSessions(t *testing.T) {
	server, token := startRedis(t), write(t, operatorsToken)
	var replicas [2]*house
	var consoles [2]string
	for i := range replicas {
		replicas[i] = serving(t, "http://127.0.0.1:1", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+token,
			"SLUICE_REDIS_URL=redis://"+server.address(), "SLUICE_REDIS_TIMEOUT=5s")
		consoles[i] = consoleOf(t, replicas[i])
	}
	browser := newBrowser(t) // its cookies are for 127.0.0.1, whatever the port
	visitPage(t, browser, consoles[0]+"/login", url.Values{"secret": {operatorsToken}})
	if _, body := visitPage(t, browser, consoles[1]+"/sessions", nil); !strings.Contains(body, signedIn("token", "operator")) {
		t.Errorf("at the other replica: %s", body)
	}
	visitPage(t, browser, consoles[0]+"/login", url.Values{"secret": {operatorsToken}})
	_, body := visitPage(t, browser, consoles[1]+"/sessions", nil)
	id := regexp.MustCompile(`name="id" value="([0-9a-f]{64})"`).FindStringSubmatch(body)
	if id == nil {
		t.Fatalf("no session in %s", body)
	}
	if _, body := visitPage(t, browser, consoles[1]+"/sessions/end", url.Values{"id": {id[1]}}); !strings.Contains(body, "<title>Sign in") {
		t.Errorf("after the end of its own session: %s", body)
	}
	if _, body := visitPage(t, browser, consoles[0]+"/sessions", nil); !strings.Contains(body, "<title>Sign in") {
		t.Errorf("at the first replica: %s", body)
	}
	for range 20 {
		visitPage(t, browser, consoles[0]+"/login", url.Values{"secret": {"guess"}})
	}
	if status, _ := visitPage(t, browser, consoles[1]+"/login", url.Values{"secret": {"guess"}}); status != http.StatusTooManyRequests {
		t.Errorf("attempts at one replica, then at the other: %d", status)
	}
	if status, body := visitPage(t, browser, consoles[1]+"/login", url.Values{"secret": {operatorsToken}}); status != http.StatusOK ||
		!strings.Contains(body, signedIn("token", "operator")) {
		t.Errorf("the right token then: %d %s", status, body)
	}
	if text := replicas[1].readiness(t); !strings.Contains(text, "the console's wrong tokens, keys and links: 20 from one address") {
		t.Errorf("readiness: %s", text)
	}
	for _, key := range server.admin.Keys(t.Context(), "sl1:{sl1:console}:*").Val() {
		value, _ := server.admin.Get(t.Context(), key).Result()
		if strings.Contains(key+value, "CANARY") || server.admin.TTL(t.Context(), key).Val() < 0 {
			t.Errorf("%s has a secret, or lives for ever: %s", key, value)
		}
	}
	browser.CloseIdleConnections()
	for _, h := range replicas {
		if code := h.stop(); code != exitClean {
			t.Errorf("exit code %d", code)
		}
	}
}

func TestTheConsoleHasTLSAsTheListenerOfTeams(t *testing.T) {
	certificate, key, roots := selfSigned(t)
	h := serving(t, "http://127.0.0.1:1", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+write(t, operatorsToken),
		"SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key)
	console, browser := consoleOf(t, h), newBrowser(t)
	browser.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	if status, body := visitPage(t, browser, console+"/login", url.Values{"secret": {operatorsToken}}); status != http.StatusOK ||
		!strings.Contains(body, signedIn("token", "operator")) {
		t.Errorf("over TLS: %d %s", status, body)
	}
	browser.CloseIdleConnections()
	if code := h.stop(); code != exitClean || !strings.HasPrefix(console, "https://") {
		t.Errorf("exit code %d at %s", code, console)
	}
}

// TestATakenPort: the default console is left out, a configured one fails the start, the demonstration's moves.
func TestATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for d, want := range map[consoleMode]string{
		consoleOptional: "none",
		consoleRequired: "SLUICE_CONSOLE_LISTEN: cannot listen there: bind: address already in use",
		consoleMovable:  "moved",
	} {
		var said strings.Builder
		log := telemetry.NewLog(telemetry.LogConfig{Writer: &said, Level: slog.LevelInfo, Now: time.Now})
		c := configuration{Settings: settings.Settings{ConsoleListen: taken.Addr().String()}, consoleMode: d}
		got := "none"
		listener, err := listenConsole(t.Context(), c, log.Logger())
		if err != nil {
			got = err.Error()
		} else if listener != nil {
			_ = listener.Close()
			got = "moved"
		}
		closeLog(log)
		if got != want || (d == consoleOptional) != strings.Contains(said.String(),
			"there is no console: SLUICE_CONSOLE_LISTEN: cannot listen there") {
			t.Errorf("%d: %s, want %s; logged %s", d, got, want, said.String())
		}
		if state := (listeners{}).consoleState(c.ConsoleListen); state == nil || strings.Contains(state.Error(), taken.Addr().String()) {
			t.Errorf("readiness: %v", state)
		}
	}
	for environ, want := range map[string]consoleMode{"SLUICE_CONSOLE_LISTEN=" + settings.DefaultConsole: consoleRequired,
		"SLUICE_CONSOLE_LISTEN=": consoleOptional, "PATH=/bin": consoleOptional} {
		if got := consoleModeIn([]string{environ}); got != want {
			t.Errorf("%s: %d", environ, got)
		}
	}
}

// TestChromiumTakesTheCookie: over plain HTTP on loopback, by address and by name, and over TLS. Browsers drop a cookie silently.
func TestChromiumTakesTheCookie(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t, "ignore-certificate-errors")
	certificate, key, _ := selfSigned(t)
	for _, tt := range []struct {
		host    string
		secured []string
	}{
		{"127.0.0.1", nil}, {"localhost", nil},
		{"127.0.0.1", []string{"SLUICE_TLS_CERT_FILE=" + certificate, "SLUICE_TLS_KEY_FILE=" + key}},
	} {
		ctx, sigterm := context.WithCancel(context.Background())
		shown, code := newTranscript(), make(chan int, 1)
		environ := servingEnviron(t, "http://127.0.0.1:1", append([]string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:0"}, tt.secured...)...)
		go func() { code <- run(ctx, program{environ, io.Discard, shown}, []string{"serve"}) }()
		link := find(t, shown, `(https?://127\.0\.0\.1:\d+/login\?code=\S+)`)
		link = strings.Replace(link, "127.0.0.1", tt.host, 1)
		browsertest.Open(tab, t, link)
		if page := browsertest.Evaluate[string](tab, t, "document.body.innerHTML"); !strings.Contains(page, signedIn("link", "operator")) {
			t.Errorf("%s:\n%s", link, page)
		}
		sigterm()
		if c := <-code; c != exitClean {
			t.Errorf("exit code %d", c)
		}
	}
}
