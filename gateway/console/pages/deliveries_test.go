package pages_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/event"
)

// Deliveries has hooks for every team but each third, of which some wait, and the deliveries of each.
func (g galleryFigures) Deliveries(_ context.Context, p access.Person, q event.Query) (r event.Report, err error) {
	if q.Owner == event.Operators && !p.SeesAll() {
		return r, figures.ErrAbsent
	}
	if _, err := g.find(p, q.Owner); err != nil && q.Owner != "" && q.Owner != event.Operators {
		return r, figures.ErrAbsent
	}
	hook := func(owner, id string, waits, ended time.Duration) {
		if q.Owner != "" && q.Owner != owner && owner != event.Operators || q.Hook != "" && q.Hook != id {
			return
		}
		h := event.HookReport{Owner: owner, Hook: id}
		if waits > 0 {
			h.Oldest = new(noon.Add(-waits))
		}
		if ended > 0 {
			h.Ended = new(noon.Add(-ended))
		}
		r.Hooks = append(r.Hooks, h)
	}
	for i := range g.list {
		if id := g.list[i].ID; (i%3 < 2 || id == "search") && p.Sees(id) {
			waits := []time.Duration{0, 0, 12 * time.Second}[i%3]
			if id == "search" {
				waits = 47 * time.Minute
			}
			hook(id, "jobs", waits, 0)
			switch id {
			case "search":
				hook(id, "a-hook-with-a-long-name-of-the-warehouse", 26*time.Hour, 27*time.Hour)
			case "maps":
				hook(id, "a-hook-with-a-long-name-of-the-warehouse", 0, 90*time.Hour) // what waited is no longer kept
			default:
				hook(id, "a-hook-with-a-long-name-of-the-warehouse", 0, 0)
			}
		}
	}
	if p.SeesAll() && len(g.list) > 1 {
		hook(event.Operators, "chat", 0, 0)
	}
	slices.SortStableFunc(r.Hooks, func(a, b event.HookReport) int { return since(a).Compare(since(b)) })
	if q.State != "" && !slices.Contains(event.States, q.State) {
		return r, event.ErrState
	}
	for i := range len(r.Hooks) * 3 * len(g.list) {
		h, at := r.Hooks[i%len(r.Hooks)], noon.Add(-time.Duration(i)*9*time.Minute)
		d := event.DeliveryReport{
			Event: event.ID{Owner: q.Owner, Millis: at.UnixMilli()}.String(), Type: event.Types[i%6], Time: at, Team: q.Owner, Owner: h.Owner,
			Hook: h.Hook, State: event.Delivered, Tries: 1, Code: http.StatusNoContent, Last: new(at.Add(time.Second)),
		}
		switch {
		case q.Owner == event.Operators:
			d.Team = g.list[i%len(g.list)].ID
		case i%5 == 1:
			d.Path = "shots/42/of-the-long-series-of-the-warehouse?x=1"
		}
		switch {
		case h.Ended != nil && i < 9:
			d.State, d.Tries, d.Code = event.Waiting, 1, http.StatusGone
		case h.Oldest != nil && i < 9:
			d.State, d.Tries, d.Code, d.Next = event.Waiting, 1+i, []int{503, 0, 500}[i%3], new(noon.Add(time.Duration(i)*7*time.Minute))
		case i%11 == 10:
			d.State, d.Tries, d.Code = event.GivenUp, 74, 401
		}
		if q.Owner != "" && (q.State == "" || q.State == d.State) && (q.Event == "" || q.Event == d.Event) {
			r.Data = append(r.Data, d)
		}
	}
	return r, nil
}

func since(h event.HookReport) time.Time {
	switch {
	case h.Ended != nil:
		return time.Time{}
	case h.Oldest == nil:
		return noon
	}
	return *h.Oldest
}

// A hook whose receiver answered 410 is shown as ended, with when that was and what to do; where none has ended, nothing is said of it.
func TestHooksThatHaveEndedAreShown(t *testing.T) {
	h := day(12).handler(operator)
	const ended = `<span class="state failed">ended</span> <small>`
	for path, want := range map[string][]string{
		"/events?team=search": {ended, "; behind by 26 h 0 min</small>", "answers 410", "behind by 47 min"},
		"/events?team=maps":   {ended, "</time></small>", "answers 410", "nothing waits"},
	} {
		text := get(t, h, path).Body.String()
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", path, part)
			}
		}
	}
	if text := get(t, h, "/events?team=search&hook=jobs").Body.String(); strings.Contains(text, "ended") || strings.Contains(text, "410") {
		t.Error("an end that none has had")
	}
}

// A hook that fails is reached from Now and from its team; a person gets to the deliveries by what is known, and a member to no others.
func TestDeliveriesAreReached(t *testing.T) {
	g := day(12)
	g.now.Faults = []figures.Fault{{Kind: "hook", Subject: "jobs", Text: "does not take its events; the oldest waits for 47m0s"}}
	h, search := g.handler(operator), access.Person{Name: "m", Role: access.Member, Teams: []string{"search"}}
	for path, want := range map[string]string{
		"/now":                      `href="/events?hook=jobs"`,
		"/teams/search":             `href="/events?team=search&amp;hook=jobs"`,
		"/teams/ads":                `href="/events?team=ads"`,
		"/events?hook=jobs":         `href="/events?team=search&amp;hook=jobs"`,
		"/events?hook=none":         "No hook has the id <bdi>none</bdi>",
		"/events?team=search":       "behind by 47 min",
		"/events?team=%40operators": "to the operators’ hooks",
	} {
		if w := get(t, h, path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, it lacks %q", path, w.Code, want)
		}
	}
	if w := get(t, h, "/events?hook=chat"); w.Code != http.StatusSeeOther ||
		w.Header().Get("Location") != "/events?hook=chat&team=%40operators" {
		t.Errorf("the only hook with an id: %d %s", w.Code, w.Header().Get("Location"))
	}
	if w := get(t, h, "/events?event=evt_1"); w.Header().Get("Location") != "/search?q=evt_1" {
		t.Errorf("an event without its team: %d %s", w.Code, w.Header().Get("Location"))
	}
	if w := get(t, h, "/events?team=search&state=waiting&hook=jobs"); strings.Contains(w.Body.String(), `state succeeded">delivered`) ||
		!strings.Contains(w.Body.String(), "sluice hook --team search --resend evt_") {
		t.Error("a filter, and how to deliver again")
	}
	for path, status := range map[string]int{"/events?team=zzz": 404, "/events?team=search&state=late": 400} {
		if w := get(t, h, path); w.Code != status {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	own := get(t, g.handler(search), "/events")
	if text := own.Body.String(); own.Code != http.StatusOK || !strings.Contains(text, "Deliveries of <bdi>search</bdi>") ||
		strings.Contains(text, "chat") || strings.Contains(text, "--resend") {
		t.Errorf("a member's: %d %s", own.Code, text)
	}
	foreign, invented := get(t, g.handler(search), "/events?team=ads"), get(t, g.handler(search), "/events?team=zzz")
	if foreign.Code != http.StatusNotFound || foreign.Body.String() != invented.Body.String() {
		t.Errorf("%d %s", foreign.Code, foreign.Body)
	}
	g = day(1000)
	if text := get(t, g.handler(operator), "/events?team=search").
		Body.String(); !strings.Contains(text, fmt.Sprintf("the newest %d of ", 200)) {
		t.Error("it does not say that some are not shown")
	}
}
