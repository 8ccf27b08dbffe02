package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console"
)

// standing is a clock that only tests move.
type standing struct {
	mu sync.Mutex
	at time.Time
}

func (s *standing) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *standing) move(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(by)
}

// TestOnePersonReadsAtAPace: beyond it pages and the interface answer 429 in their forms, only for this person.
func TestOnePersonReadsAtAPace(t *testing.T) {
	clock, hurried := &standing{at: time.Unix(1_800_000_000, 0)}, 0
	h := open(t, false, func(d *console.Deps) { d.Now, d.Hurried = clock.now, func() { hurried++ } })
	one, two := h.browser(t), h.browser(t)
	for _, b := range []browser{one, two} { // two sessions of one person
		b.send(t, "POST", "/login", url.Values{"secret": {mapsKey}})
	}
	reads := func(n int, headers ...string) (ok int, refused answer) {
		for i := range n {
			switch got := []browser{one, two}[i%2].send(t, "GET", "/teams", nil, headers...); got.status {
			case http.StatusOK:
				ok++
			default:
				refused = got
			}
		}
		return ok, refused
	}
	ok, refused := reads(130)
	if ok != 100 || hurried != 30 {
		t.Errorf("%d of 130 at once are answered, %d times the bound is told; want 100 and 30", ok, hurried)
	}
	if refused.status != http.StatusTooManyRequests || refused.header.Get("Retry-After") != "1" ||
		!strings.Contains(refused.body, "20 requests a second") {
		t.Errorf("a page: %d %v %s", refused.status, refused.header, refused.body)
	}
	got := one.send(t, "GET", "/api/v1/me", nil)
	if got.status != http.StatusTooManyRequests || got.header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(got.body, `"code":"attempts"`) {
		t.Errorf("the interface: %d %s", got.status, got.body)
	}
	if got := one.send(t, "GET", "/assets/console.css", nil); got.status != http.StatusOK {
		t.Errorf("a stylesheet: %d", got.status)
	}
	if ok, _ := reads(130, "Accept: text/event-stream"); ok != 100 {
		t.Errorf("%d live parts of 130 are answered beside, want 100", ok)
	}
	clock.move(time.Second)
	if ok, _ := reads(50); ok != 20 {
		t.Errorf("%d of 50 are answered after a second, want 20", ok)
	}
	if got := one.send(t, "POST", "/logout", url.Values{}); got.status != http.StatusSeeOther {
		t.Errorf("the logout: %d", got.status)
	}
}

// TestAProgramAndAPersonHaveTheirOwnPace, and what an operator changes does not count.
func TestAProgramAndAPersonHaveTheirOwnPace(t *testing.T) {
	clock := &standing{at: time.Unix(1_800_000_000, 0)}
	h := open(t, false, func(d *console.Deps) { d.Now = clock.now })
	b, program := h.browser(t), h.browser(t)
	b.login(t)
	send := func(method string) (last int) {
		for range 101 {
			last = program.send(t, method, "/api/v1/teams", nil, "Authorization: Bearer "+token).status
		}
		return last
	}
	if got := send("POST"); got != http.StatusOK {
		t.Errorf("the 101st change of an operator: %d", got)
	}
	if got := send("GET"); got != http.StatusTooManyRequests {
		t.Errorf("the 101st reading of a program: %d", got)
	}
	if got := b.send(t, "GET", "/teams", nil); got.status != http.StatusOK {
		t.Errorf("a page of the person beside: %d", got.status)
	}
}
