package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/policy/teams"
)

const keyPage = "/teams/search/keys/7f3k9q2m4x00"

// A key's page has its limits and those of its team with their raises, the days of its month, and for those who make the team's keys the
// form of its limits and the button that disables it.
func TestAKeyHasAPage(t *testing.T) {
	g := day(12)
	root := parse(t, get(t, g.handler(operator), keyPage))
	text := textOf(root)
	for _, want := range []string{
		"7f3k9q2m4x00", "the indexer", "in force", "Images today key", "Images today team", "200 + 250 until midnight, launch",
		"4 at once, over all replicas", "gen2.6-*",
		"Spend in November", "1 Nov", "22 Nov", "Rotate: this key ends", "Disable the key", "Last used in the hour from",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	if form := formOf(t, root, keyForm); form.Get("quotas.images.day") != "50" || form.Get("version") == "" {
		t.Errorf("the form has %v", form)
	}
	order := formOf(t, root, keyPage+"/rotate")
	order.Set("ends", "day")
	if w := post(t, g.handler(operator), keyPage+"/rotate", order); w.Code != http.StatusCreated || len(g.changed) != 1 ||
		!strings.HasPrefix(g.changed[0], "rotate search 7f3k9q2m4x00 ") {
		t.Errorf("rotated: %d, changed %q", w.Code, g.changed)
	}
	g.changed = nil
	form := formOf(t, root, keyPage+"/state")
	w := post(t, g.handler(operator), keyPage+"/state", form)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != keyPage+"?done=offkey" || len(g.changed) != 1 ||
		!strings.HasPrefix(g.changed[0], `change key search 7f3k9q2m4x00 {"disabled":true} "`) {
		t.Errorf("%d to %s, changed %q", w.Code, w.Header().Get("Location"), g.changed)
	}
	g.refuse = &teams.Problem{Code: teams.CodeConflict, Text: "too many changes at once"}
	if w := post(t, g.handler(operator), keyPage+"/state", form); w.Code != http.StatusConflict ||
		!strings.Contains(textOf(parse(t, w)), "Too many changes at once") ||
		!strings.Contains(w.Body.String(), "Spend in November") {
		t.Errorf("a refused change: %d %s", w.Code, textOf(parse(t, w)))
	}
}

// A removed key and a token keep their month. Others than those who make the team's keys only look; what does not exist, or is another
// team's, is one answer.
func TestWhoSeesAKey(t *testing.T) {
	member := access.Person{Name: "m", Role: access.Member, Teams: []string{"search"}}
	for _, tt := range []struct {
		about       string
		p           access.Person
		selfService bool
		path        string
		status      int
		changes     bool
		says        string
	}{
		{"an operator", operator, false, keyPage, 200, true, "in force"},
		{"a viewer", access.Person{Role: access.Viewer}, true, keyPage, 200, false, "in force"},
		{"a member", member, false, keyPage, 200, false, "in force"},
		{"a member who makes keys", member, true, keyPage, 200, true, "in force"},
		{"a key of the teams file", operator, false, "/teams/ads/keys/7f3k9q2m4x00", 200, false, "The teams file owns it"},
		{"a token", operator, false, "/teams/search/keys/jwt:sub%2Fone", 200, false, "jwt:sub/one a token’s subject"},
		{"a removed key", operator, false, "/teams/search/keys/zzzzzzzzzz00", 200, false, "removed"},
		{"no key", operator, false, "/teams/search/keys/zzzzzzzzzz01", 404, false, "There is no such page"},
		{"another team's", access.Person{Role: access.Member, Teams: []string{"ads"}}, true, keyPage, 404, false, ""},
	} {
		g := day(12)
		g.elsewhere = tt.selfService
		w := get(t, g.handler(tt.p), tt.path)
		if got := strings.Contains(w.Body.String(), "/edit\"") && strings.Contains(w.Body.String(), "/state\""); w.Code != tt.status ||
			got != tt.changes || !strings.Contains(textOf(parse(t, w)), tt.says) {
			t.Errorf("%s: %d, changes %v: %s", tt.about, w.Code, got, textOf(parse(t, w)))
		}
	}
}

// The team's page links to its keys, and Money by key to those whose team is known.
func TestKeysAreLinked(t *testing.T) {
	h := day(12).handler(operator)
	for path, want := range map[string]int{"/teams/search": 2, "/money?by=key&team=search": 1, "/money?by=key": 0} {
		body := get(t, h, path).Body.String()
		if got := strings.Count(body, `href="`+keyPage+`"`); got != want {
			t.Errorf("%s has %d links, want %d", path, got, want)
		}
	}
	if body := get(t, h, "/money?by=key").Body.String(); strings.Contains(body, "/keys/jwt:") ||
		!strings.Contains(body, "/keys/7f3k9q2m4x00\"") {
		t.Error("a key has no link to the page of its team, or the subject of a token has one")
	}
	if body := get(t, h, "/money?by=key&from=2026-11-01&to=2026-11-10").Body.String(); strings.Contains(body, "/keys/") ||
		!strings.Contains(body, `href="/requests?from=2026-11-01T00%3A00%3A00Z&amp;key=7f3k9q2m4x00&amp;to=2026-11-11T00%3A00%3A00Z"`) {
		t.Errorf("other days than the month's: %s", body)
	}
	if body := get(t, h, "/money?by=key&team=search").Body.String(); !strings.Contains(body,
		"/teams/search/keys/"+url.PathEscape("jwt:system:serviceaccount:search:indexer")) {
		t.Error("the subject of a team's token has no link")
	}
}

// TestAKeyOfADisabledTeamIsNotInForce.
func TestAKeyOfADisabledTeamIsNotInForce(t *testing.T) {
	g := day(12)
	for i := range g.list {
		g.list[i].Disabled = true
	}
	if text := textOf(parse(t, get(t, g.handler(operator), "/teams/search/keys/7f3k9q2m4x00"))); !strings.Contains(text,
		"its team is disabled: it does not work") || strings.Contains(text, "in force") {
		t.Error("the page says that the key works")
	}
	start := textOf(parse(t, get(t, g.handler(operator), "/teams/search/keys/7f3k9q2m4x00/start")))
	if !strings.Contains(start, "The team is disabled: none of its keys works.") || strings.Contains(start, "Waiting for the first request") {
		t.Error("the page of the start waits for a request")
	}
}

// TestTheStartOfAKeyThatDoesNotWork says so and waits for no request; of what is no key there is no start.
func TestTheStartOfAKeyThatDoesNotWork(t *testing.T) {
	g := day(12)
	g.requests = g.requests[:1]
	g.requests[0].Team, g.requests[0].Key = "many", "removed00000"
	g.list = append(g.list, teamLine{ID: "many", Owner: teams.OwnerDirectory, Keys: 4})
	deps := g.deps()
	deps.Teams = offTeams{deps.Teams}
	h := as(pages.New(deps), operator)
	for key, want := range map[string]string{
		"7f3k9q2m4x00": "The key is disabled: it does not work until it is enabled.", "7f3k9q2m4x01": "Waiting for the first request…",
		"7f3k9q2m4x03": "The key has ended: it no longer works.", "removed00000": "The key was removed: it no longer works.",
		"never0000000": "There is no such page",
	} {
		w := get(t, h, "/teams/many/keys/"+key+"/start")
		text := textOf(parse(t, w))
		if !strings.Contains(text, want) || (w.Code == http.StatusNotFound) != (key == "never0000000") ||
			strings.Contains(text, "Waiting") != strings.Contains(want, "Waiting") {
			t.Errorf("%s: %d %s", key, w.Code, text)
		}
	}
}

// TestTheStartOfAKeyThatIsRemovedMeanwhile waits for no request any more, also in a browser that connects again. It is not over: the page
// would be loaded again, which has no start of such a key, or sends the form that made it.
func TestTheStartOfAKeyThatIsRemovedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := day(12)
		g.list = append(g.list, teamLine{ID: "many", Owner: teams.OwnerDirectory, Keys: 4})
		deps := g.deps()
		removed := &withoutKeys{Teams: deps.Teams}
		deps.Teams = removed
		h := as(pages.New(deps), operator)
		follow := func() (events []string) {
			r := httptest.NewRequest(http.MethodGet, "/teams/many/keys/7f3k9q2m4x00/start", http.NoBody)
			r.Header.Set("Accept", "text/html, text/event-stream")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return strings.SplitAfter(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
		}
		time.AfterFunc(10*time.Second, func() { removed.now.Store(true) })
		const gone = "The key was removed: it no longer works."
		if events := follow(); len(events) != 2 || !strings.Contains(events[0], "Waiting for the first request…") ||
			!strings.Contains(events[1], gone) || strings.Contains(events[1], "Waiting") {
			t.Errorf("a browser gets %q", events)
		}
		if events := follow(); len(events) != 1 || !strings.Contains(events[0], gone) {
			t.Errorf("one that connects again gets %q", events)
		}
		if w := get(t, h, "/teams/many/keys/7f3k9q2m4x00/start"); w.Code != http.StatusNotFound {
			t.Errorf("the page opened anew: %d", w.Code)
		}
	})
}

// withoutKeys are teams that lose all keys.
type withoutKeys struct {
	pages.Teams
	now atomic.Bool
}

func (o *withoutKeys) Show(ctx context.Context, p access.Person, id string) (teams.Spec, error) {
	t, err := o.Teams.Show(ctx, p, id)
	if o.now.Load() {
		t.Keys = nil
	}
	return t, err
}

// offTeams are teams whose first key is disabled.
type offTeams struct{ pages.Teams }

func (o offTeams) Show(ctx context.Context, p access.Person, id string) (teams.Spec, error) {
	t, err := o.Teams.Show(ctx, p, id)
	t.Keys[0].Disabled = true
	return t, err
}
