package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/simulator"
)

// TestAMembersDay in a browser: a member logs in with the team's key, sees a task appear and run without reloading, and looks at
// its picture. An operator logs in with the token and sees the same task.
func TestAMembersDay(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	var late atomic.Int64 // how far the service's clock is ahead, in seconds
	now := func() time.Time { return time.Now().Add(time.Duration(late.Load()) * time.Second) }
	_, service := newService(t, simulator.Config{Now: now, Pending: time.Hour, Running: time.Hour, TaskRate: -1})
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte(strings.Repeat("operator-", 5)), 0o600))
	h := serving(t, service.URL, "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+token, "SLUICE_POLL_INTERVAL=500ms")
	console := consoleOf(t, h)

	login(tab, t, console, "test")
	browsertest.Open(tab, t, console+"/tasks")
	browsertest.Evaluate[bool](tab, t, "window.loadedOnce = true")
	task := makeTask(t, h)
	shows(tab, t, task) // no page was loaded since
	if !browsertest.Evaluate[bool](tab, t, "window.loadedOnce === true") {
		t.Error("the list was loaded again")
	}

	browsertest.Open(tab, t, console+"/teams/search/tasks/"+task)
	for _, state := range []string{"pending", "running", "succeeded"} {
		shows(tab, t, state)
		late.Add(int64((90 * time.Minute).Seconds()))
	}
	const drawn = `[...document.querySelectorAll(".pictures img")].filter(i => (i.scrollIntoView(),` +
		` i.complete && i.naturalWidth > 0)).length === 1`
	holds(tab, t, drawn)

	press(tab, t, `form[action="/logout"] button`, nil)
	login(tab, t, console, strings.Repeat("operator-", 5))
	browsertest.Open(tab, t, console+"/tasks?state=SUCCEEDED")
	if text := textIn(tab, t); !strings.Contains(text, task) || !strings.Contains(text, "operator") {
		t.Errorf("the operator sees %s", text)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// login logs in with a secret by the form.
func login(tab context.Context, t *testing.T, console, secret string) {
	t.Helper()
	browsertest.Open(tab, t, console+"/login")
	if status := press(tab, t, `form[action="/login"] button`, map[string]string{"#secret": secret}); status != http.StatusOK {
		t.Fatalf("a login: %d %s", status, textIn(tab, t))
	}
}

// makeTask makes a task of one picture for team search.
func makeTask(t *testing.T, h *house) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.public+imageURL,
		strings.NewReader(fmt.Sprintf(imageTask, 1)))
	must(t, err)
	for name, value := range map[string]string{"Authorization": "Bearer test", "Content-Type": "application/json",
		"X-Service-Async": "enable"} {
		request.Header.Set(name, value)
	}
	answer, err := newClient(t).Do(request)
	must(t, err)
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	must(t, answer.Body.Close())
	match := regexp.MustCompile(`"task_id":"([^"]+)"`).FindStringSubmatch(string(text))
	if match == nil {
		t.Fatalf("no task but %s: %s", answer.Status, text)
	}
	return match[1]
}

// shows waits until the page of a tab has a text.
func shows(tab context.Context, t *testing.T, text string) {
	t.Helper()
	holds(tab, t, fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// holds waits until a condition of the page of a tab holds. Meanwhile the page may reload itself, which ends a script in it.
func holds(tab context.Context, t *testing.T, condition string) {
	t.Helper()
	eventually(t, func() bool {
		is, err := chromedp.Run(tab, chromedp.Evaluate[bool](condition))
		if tab.Err() != nil {
			t.Fatal(tab.Err())
		}
		return err == nil && is
	})
}
