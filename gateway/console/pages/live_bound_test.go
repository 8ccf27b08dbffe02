package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"sluice/gateway/console/access"
)

// hall has people who listen to live parts.
type hall struct {
	*testing.T
	*feeds
	crowded int
}

// enter starts a listener, and returns its answer and a function that ends it.
func (h *hall) enter(path string, p access.Person) (w *httptest.ResponseRecorder, leave func()) {
	ctx, leave := context.WithCancel(h.Context())
	w = httptest.NewRecorder()
	go h.follow(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody), p, always("x"))
	synctest.Wait()
	return w, leave
}

func newHall(t *testing.T) *hall {
	h := &hall{T: t, feeds: newFeeds()}
	h.feeds.crowded = func() { h.crowded++ }
	return h
}

func memberOf(teams ...string) access.Person {
	return access.Person{Name: "key:" + teams[0], Role: access.Member, Teams: teams}
}

// TestTheMembersOfATeamListenAFewTimes to one live part or to several, and others are not affected.
func TestTheMembersOfATeamListenAFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		var leave func()
		for i := range 40 {
			w, end := h.enter(fmt.Sprint("/requests?x=", i%2), memberOf("maps"))
			if full := w.Code != http.StatusOK; full != (i >= 20) {
				t.Fatalf("listener %d of a team: %d", i+1, w.Code)
			}
			if i == 0 {
				leave = end
			}
		}
		w, _ := h.enter("/now", memberOf("ads", "maps"))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "60" || w.Body.Len() == 0 || h.crowded != 21 {
			t.Errorf("a member of this team and another: %d %v, told %d times", w.Code, w.Header(), h.crowded)
		}
		for _, p := range []access.Person{memberOf("ads"), {Name: "v", Role: access.Viewer}, {Name: "o", Role: access.Operator}} {
			if w, _ := h.enter("/requests?x=0", p); w.Code != http.StatusOK {
				t.Errorf("%s: %d", p.Name, w.Code)
			}
		}
		leave()
		synctest.Wait()
		if w, _ := h.enter("/now", memberOf("maps")); w.Code != http.StatusOK {
			t.Errorf("after one has left: %d", w.Code)
		}
	})
}

// TestListenersAreBounded in total, and some are reserved for people who see every team.
func TestListenersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		for i := range 1010 {
			w, _ := h.enter("/now", memberOf(fmt.Sprint("team-", i%55)))
			if full := w.Code == http.StatusServiceUnavailable; full != (i >= 950) {
				t.Fatalf("listener %d: %d", i+1, w.Code)
			}
		}
		for i := range 60 {
			w, _ := h.enter("/now", access.Person{Name: fmt.Sprint("viewer-", i%3), Role: access.Viewer})
			if full := w.Code == http.StatusServiceUnavailable; full != (i >= 50) {
				t.Fatalf("viewer %d: %d", i+1, w.Code)
			}
		}
	})
}
