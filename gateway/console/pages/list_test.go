package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
)

func TestAThousandTeamsHavePages(t *testing.T) {
	h := day(1000).handler(operator)
	seen, path := map[string]bool{}, "/teams"
	for range 10 {
		root := parse(t, get(t, h, path))
		for _, row := range all(all(root, "tbody")[0], "tr") {
			seen[textOf(all(row, "a")[0])] = true
		}
		path = next(root)
	}
	if len(seen) != 1000 || path != "" {
		t.Errorf("%d teams on ten pages, then %q", len(seen), path)
	}
	for find, want := range map[string]int{"TEAM-0500": 1, "number 77": 11, "<script>": 0} {
		root := parse(t, get(t, h, "/teams?find="+strings.ReplaceAll(find, " ", "+")))
		if got := rows(root); got != want {
			t.Errorf("%q finds %d teams, want %d", find, got, want)
		}
	}
	for _, page := range []string{"-1", "0", "99999999999999999999", "x"} {
		if w := get(t, h, "/teams?page="+page); w.Code != http.StatusOK || rows(parse(t, w)) != 100 {
			t.Errorf("page %s: %d", page, w.Code)
		}
	}
}

// TestTheChoiceOfTeamsStays while words are looked for: the form keeps the chip, chips count what they lead to, and an empty list is true.
func TestTheChoiceOfTeamsStays(t *testing.T) {
	h := day(12).handler(operator)
	root := parse(t, get(t, h, "/teams?only=shadow&find=search&sort=spend"))
	if form := formOf(t, root, "/teams"); form.Get("only") != "shadow" || form.Get("find") != "search" || form.Get("sort") != "spend" {
		t.Errorf("the form drops the choice: %v", form)
	}
	for query, want := range map[string]string{
		"only=shadow&find=search": "No team has “search” in its id or description and fits the choice above.",
		"find=zzz":                "No team has “zzz” in its id or description.", "only=ending": "No team fits the choice above.",
	} {
		if text := textOf(parse(t, get(t, h, "/teams?"+query))); !strings.Contains(text, want) {
			t.Errorf("%s: %s", query, text)
		}
	}
	for _, a := range all(all(parse(t, get(t, h, "/teams?find=a")), "main")[0], "a") {
		if to := attribute(a, "href"); strings.Contains(to, "only=") {
			if name := textOf(a); name[strings.LastIndex(name, " ")+1:] != strconv.Itoa(rows(parse(t, get(t, h, to)))) {
				t.Errorf("%s leads to %d rows", name, rows(parse(t, get(t, h, to))))
			}
		}
	}
}

// TestRefusalsAndRequestsKeepTeamAndSpan from one list to the other.
func TestRefusalsAndRequestsKeepTeamAndSpan(t *testing.T) {
	h := day(12).handler(operator)
	for path, want := range map[string]string{
		"/refusals?by=model&team=search&span=day": "/requests?from=2026-11-21T12%3A35%3A00Z&team=search",
		"/refusals": "/requests?from=2026-11-22T11%3A35%3A00Z",
		"/requests?team=search&from=2026-11-22T00:00": "/refusals?by=reason&span=day&team=search",
		"/requests?team=search&from=2026-11-22T12:00": "/refusals?by=reason&team=search", "/requests": "/refusals?by=reason",
	} {
		found := ""
		for _, a := range all(all(all(parse(t, get(t, h, path)), "main")[0], "nav")[0], "a") {
			found += attribute(a, "href") + " "
		}
		if !strings.Contains(found, want+" ") {
			t.Errorf("%s leads to %s, want %s", path, found, want)
		}
	}
	g := day(12)
	deps := g.deps()
	deps.Figures = ungrouped{deps.Figures}
	if text := get(t, as(pages.New(deps), operator), "/refusals?by=rule&team=search&span=day").
		Body.String(); !strings.Contains(text, `href="/refusals?by=reason&amp;span=day&amp;team=search">Look at`) {
		t.Error("the reasons are of all teams")
	}
}

// ungrouped are refusals without a value.
type ungrouped struct{ pages.Figures }

func (ungrouped) Refused(context.Context, access.Person, figures.RefusedQuery) (figures.Refused, error) {
	return figures.Refused{Kept: 3, All: 3}, nil
}

func TestFiltersOfRequests(t *testing.T) {
	h := day(12).handler(operator)
	for query, want := range map[string]struct{ status, rows int }{
		"": {200, 31}, "status=502": {200, 2}, "from=2026-11-22T12:34": {200, 9}, "from=2026-11-22T12:34:00Z": {200, 9}, "team=search": {200, 3},
		"team=+search+&status=+200": {200, 3},
		"status=abc":                {400, 0}, "status=99": {400, 0}, "status=600": {400, 0}, "from=yesterday": {400, 0}, "team=zzz": {200, 0},
	} {
		w := get(t, h, "/requests?"+query)
		if root := parse(t, w); w.Code != want.status || rows(root) != want.rows ||
			strings.Contains(w.Body.String(), `aria-invalid="true"`) != (want.status == 400) {
			t.Errorf("%s: %d with %d rows, want %v", query, w.Code, rows(root), want)
		}
	}
}

// TestHiddenPollsAreNamed where they may be what is looked for: an empty list leads to them. Polls that were refused or failed are listed.
func TestHiddenPollsAreNamed(t *testing.T) {
	h := day(12).handler(operator)
	for _, query := range []string{"polls=false", "polls=false&refusal=any"} {
		if form := formOf(t, parse(t, get(t, h, "/requests?"+query)), "/requests"); form.Get("polls") != "false" {
			t.Errorf("the form of %s asks for the polls %q", query, form.Get("polls"))
		}
	}
	for query, want := range map[string][3]bool{ // a link to the polls, a box, told that they are there
		"team=zzz": {true, true, false}, "team=zzz&polls=true": {false, true, false}, "team=zzz&refusal=any": {false, false, true},
		"team=zzz&status=failed": {false, false, true}, "": {false, true, false},
	} {
		text := get(t, h, "/requests?"+query).Body.String()
		if got := [3]bool{strings.Contains(text, `href="/requests?polls=true&amp;team=zzz">`), strings.Contains(text, `name="polls"`),
			strings.Contains(text, "with polls of tasks")}; got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, a := range all(all(parse(t, get(t, h, "/now")), "figure")[0], "a") {
		if !strings.Contains(attribute(a, "href"), "polls=true") {
			t.Fatalf("a column counts polls, and leads to %s", attribute(a, "href"))
		}
	}
}

func TestTheNavigationHasWhatThePersonMayOpen(t *testing.T) {
	g := day(12)
	for _, p := range []access.Person{operator, {Name: "v", Role: access.Viewer},
		{Name: "m", Role: access.Member, Teams: []string{"search"}}} {
		root := parse(t, get(t, g.handler(p), "/tasks"))
		here, count := "", 0
		for _, a := range all(all(root, "nav")[0], "a") {
			count++
			if attribute(a, "aria-current") == "page" {
				here += textOf(a)
			}
			if w := get(t, g.handler(p), attribute(a, "href")); w.Code != http.StatusOK {
				t.Errorf("role %d: %s is %d", p.Role, attribute(a, "href"), w.Code)
			}
		}
		if want := map[bool]int{true: 10, false: 6}[p.SeesAll()]; count != want || here != "Tasks" {
			t.Errorf("role %d has %d pages, here %s", p.Role, count, here)
		}
	}
}

// BenchmarkPages renders the heaviest pages of a thousand teams.
func BenchmarkPages(b *testing.B) {
	g := day(1000)
	h := g.handler(operator)
	for _, path := range []string{"/now", "/teams", "/money", "/teams/search", "/requests"} {
		b.Run(path[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				get(b, h, path)
			}
		})
	}
}

// TestLinksAreEscapedOnce: a link requests exactly what its row shows.
func TestLinksAreEscapedOnce(t *testing.T) {
	g := day(12)
	h, refused := g.handler(operator), g.list[slices.IndexFunc(g.list, func(l teamLine) bool { return l.Refused > 0 })].ID
	for path, want := range map[string]string{"/teams/" + refused: "refusal=admit/quota", "/now": "from=2026-11-22T00:00:00Z"} {
		found := false
		for _, a := range all(parse(t, get(t, h, path)), "a") {
			query, err := url.QueryUnescape(attribute(a, "href"))
			found = found || err == nil && strings.Contains(query, want)
		}
		if !found {
			t.Errorf("%s has no link with %s", path, want)
		}
	}
}

// TestNowShowsTheHouse: how full each quota of all teams together is.
func TestNowShowsTheHouse(t *testing.T) {
	g := day(12)
	g.now.House[0].Reset = untilMidnight - 3*time.Millisecond // it was read a moment after the page's time
	page := textOf(parse(t, get(t, g.handler(operator), "/now")))
	for _, want := range []string{"The house: all teams together", "Images today", "Spend this month, CNY",
		"6,00020,00023 Nov 2026, 00:00 UTC"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if page := get(t, little().handler(operator), "/now").Body.String(); strings.Contains(page, "The house") {
		t.Error("there is no house")
	}
}

// TestANewTeamHasAPage before the replica has put it in force.
func TestANewTeamHasAPage(t *testing.T) {
	g := day(12)
	deps := g.deps()
	deps.Figures = unforced{galleryFigures{g}}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/teams/search", http.NoBody)
	pages.New(deps).ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "not in force yet") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// unforced are the figures of no team.
type unforced struct{ galleryFigures }

func (unforced) Team(context.Context, access.Person, string) (figures.TeamFigures, error) {
	return figures.TeamFigures{}, figures.ErrAbsent
}
