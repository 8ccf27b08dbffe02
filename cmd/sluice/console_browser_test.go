package main

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/simulator"
)

// press sets fields of the page of a tab, presses a button, and returns the status of the page that follows.
func press(tab context.Context, t *testing.T, button string, fields map[string]string) int {
	t.Helper()
	limited, enough := context.WithTimeout(tab, patience)
	defer enough()
	var steps []chromedp.Action[chromedp.Void]
	for name, value := range fields {
		steps = append(steps, chromedp.SetValue(chromedp.CSS(name), value))
	}
	answer, err := chromedp.RunResponse(limited, append(steps, chromedp.Click(chromedp.CSS(button)))...)
	if err != nil {
		t.Fatalf("%s: %v", button, err)
	}
	return int(answer.Status)
}

// textIn returns the text of a tab's page.
func textIn(tab context.Context, t *testing.T) string {
	t.Helper()
	return browsertest.Evaluate[string](tab, t, "document.body.innerText")
}

// TestAnOperatorsDay in a browser: the one-time link, a team, its key, a limit that holds at another replica, a race that is lost, and
// the end of the session.
func TestAnOperatorsDay(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	_, service := newService(t, simulator.Config{})
	shared := []string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_REDIS_URL=" + startRedis(t).url(), "SLUICE_REDIS_TIMEOUT=5s"}
	one, other := serving(t, service.URL, shared...), serving(t, service.URL, shared...)
	console, client := consoleOf(t, one), newClient(t)
	browsertest.Open(tab, t, find(t, one.log, `(http://127\.0\.0\.1:\d+/login\?code=\S+)`))

	browsertest.Open(tab, t, console+"/new-team")
	if status := press(tab, t, ".actions button", map[string]string{"#f-id": "mill", "#f-description": "the mill"}); status != 200 ||
		!strings.Contains(textIn(tab, t), "The team was created") {
		t.Fatalf("a new team: %d %s", status, textIn(tab, t))
	}
	if status := press(tab, t, `form[action="/teams/mill/keys"] button`,
		map[string]string{`input[name="note"]`: "the indexer"}); status != 201 {
		t.Fatalf("a new key: %d %s", status, textIn(tab, t))
	}
	key := browsertest.Evaluate[string](tab, t, `document.getElementById("key").textContent`)
	asked := func(h *house) int {
		status, _, err := askAs(client, key, "http://"+h.public, textURL, demoText)
		must(t, err)
		return status
	}
	for _, h := range []*house{one, other} {
		eventually(t, func() bool { return asked(h) == 200 })
	}

	browsertest.Open(tab, t, console+"/teams/mill/edit")
	if status := press(tab, t, ".actions button", map[string]string{"#f-quotas-requests-day": "1"}); status != 200 ||
		!strings.Contains(textIn(tab, t), "The change was made") {
		t.Fatalf("a limit: %d %s", status, textIn(tab, t))
	}
	eventually(t, func() bool { return asked(other) == 429 })

	loseARace(tab, t, console)
	browsertest.Open(tab, t, console+"/sessions")
	press(tab, t, `form[action="/sessions/end"] button`, nil)
	for _, c := range []string{console, consoleOf(t, other)} { // cookies are for 127.0.0.1, whatever the port
		browsertest.Open(tab, t, c+"/now")
		if title := browsertest.Evaluate[string](tab, t, "document.title"); !strings.HasPrefix(title, "Sign in") {
			t.Errorf("after the end of the session %s shows %s", c, title)
		}
	}
	client.CloseIdleConnections()
	for _, h := range []*house{one, other} {
		if code := h.stop(); code != exitClean || strings.Contains(string(h.log.bytes()), key) {
			t.Errorf("exit code %d, or the key is in the log", code)
		}
	}
}

// loseARace changes a team while its form is open in another tab.
func loseARace(tab context.Context, t *testing.T, console string) {
	t.Helper()
	second, leave := chromedp.NewContext(tab)
	defer leave()
	browsertest.Open(tab, t, console+"/teams/mill/edit")
	browsertest.Open(second, t, console+"/teams/mill/edit")
	if status := press(second, t, ".actions button", map[string]string{"#f-description": "the new mill"}); status != 200 {
		t.Errorf("the faster one: %d", status)
	}
	status := press(tab, t, ".actions button", map[string]string{"#f-description": "the old mill"})
	text := textIn(tab, t)
	if status != 412 || !strings.Contains(text, "Somebody else changed this team while you were editing") ||
		!strings.Contains(text, "In force now: the new mill") {
		t.Errorf("the slower one: %d %s", status, text)
	}
}

// TestTheLimitsOfAKeyInABrowser: a key is made with one, which holds; a fault stands at its field; then the limit is taken away.
func TestTheLimitsOfAKeyInABrowser(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	_, service := newService(t, simulator.Config{})
	h := serving(t, service.URL, "SLUICE_CONSOLE_LISTEN=127.0.0.1:0")
	console, client := consoleOf(t, h), newClient(t)
	browsertest.Open(tab, t, find(t, h.log, `(http://127\.0\.0\.1:\d+/login\?code=\S+)`))
	browsertest.Open(tab, t, console+"/new-team")
	press(tab, t, ".actions button", map[string]string{"#f-id": "mill"})

	const mint = `form[action="/teams/mill/keys"] button`
	if status := press(tab, t, mint, map[string]string{"#f-quotas-requests-day": "many"}); status != 400 {
		t.Fatalf("a faulty limit: %d %s", status, textIn(tab, t))
	}
	if hint := browsertest.Evaluate[string](tab, t, `document.getElementById("f-quotas-requests-day-hint").innerText`); !strings.Contains(
		hint, "many") {
		t.Errorf("beside the field stands %q", hint)
	}
	if status := press(tab, t, mint, map[string]string{"#f-quotas-requests-day": "1", "#f-models": "llm-*"}); status != 201 {
		t.Fatalf("a key with a limit: %d %s", status, textIn(tab, t))
	}
	key := browsertest.Evaluate[string](tab, t, `document.getElementById("key").textContent`)
	asked := func() int {
		status, _, err := askAs(client, key, "http://"+h.public, textURL, demoText)
		must(t, err)
		return status
	}
	eventually(t, func() bool { return asked() == 200 })
	if status := asked(); status != 429 {
		t.Errorf("beyond the key's quota: %d", status)
	}

	id, _, _ := strings.Cut(strings.TrimPrefix(key, "slk_"), "_")
	browsertest.Open(tab, t, console+"/teams/mill")
	if text := textIn(tab, t); !strings.Contains(text, "1 request a day, only llm-*") {
		t.Errorf("the team's page lacks the key's limits: %s", text)
	}
	browsertest.Open(tab, t, console+"/teams/mill/keys/"+id+"/edit")
	if status := press(tab, t, ".actions button", map[string]string{"#f-quotas-requests-day": " "}); status != 200 ||
		!strings.Contains(textIn(tab, t), "own limits were changed") {
		t.Fatalf("the limit taken away: %d %s", status, textIn(tab, t))
	}
	eventually(t, func() bool { return asked() == 200 })
	if text := textIn(tab, t); strings.Contains(text, "1 request a day") || !strings.Contains(text, "llm-*") {
		t.Errorf("afterwards the key's page has %s", text)
	}
	client.CloseIdleConnections()
	if code := h.stop(); code != exitClean || strings.Contains(string(h.log.bytes()), key) {
		t.Errorf("exit code %d, or the key is in the log", code)
	}
}
