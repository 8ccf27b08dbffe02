package pages_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/policy/teams"
)

func TestWhoSeesAndChangesWhat(t *testing.T) {
	g := day(12)
	member := access.Person{Name: "m", Role: access.Member, Teams: []string{"search"}}
	viewer := access.Person{Name: "v", Role: access.Viewer}
	for _, tt := range []struct {
		about  string
		p      access.Person
		path   string
		status int
		forms  int // that change something, except sign-out
	}{
		{"without a login", access.Person{}, "/now", 401, 0},
		{"a member, the own team", member, "/teams/search", 200, 0},
		{"a member, a foreign team", member, "/teams/ads", 404, 0},
		{"a member, no team", member, "/teams/zzz", 404, 0},
		{"a member, the audit", member, "/audit", 403, 0},
		{"a member, the settings", member, "/config", 403, 0},
		{"a viewer, a team", viewer, "/teams/search", 200, 0},
		{"a viewer, the form", viewer, "/teams/search/edit", 403, 0},
		{"a viewer, a new team", viewer, "/new-team", 403, 0},
		{"a viewer, a running task", viewer, "/teams/search/tasks/" + g.tasks[0].ID, 200, 0},
		{"a member, a running task", member, "/teams/search/tasks/" + g.tasks[0].ID, 200, 1},
		// rotate, disable, remove, make, three raises and two ends, correct, disable
		{"an operator, a team of the directory", operator, "/teams/search", 200, 11},
		{"an operator, a team of the file", operator, "/teams/ads", 200, 6}, // three raises and two ends, correct
		{"an operator, the form of the file's team", operator, "/teams/ads/edit", 409, 0},
		{"an operator, a running task", operator, "/teams/search/tasks/" + g.tasks[0].ID, 200, 1},
	} {
		w := get(t, g.handler(tt.p), tt.path)
		forms := 0
		for _, form := range all(parse(t, w), "form") {
			if attribute(form, "method") == "post" && attribute(form, "action") != "/logout" {
				forms++
			}
		}
		if w.Code != tt.status || forms != tt.forms {
			t.Errorf("%s: %d and %d forms, want %d and %d", tt.about, w.Code, forms, tt.status, tt.forms)
		}
	}
	if one, other := get(t, g.handler(member), "/teams/ads"), get(t, g.handler(member),
		"/teams/zzz"); one.Body.String() != other.Body.String() {
		t.Error("a foreign team's answer is not that of an unknown one")
	}
	if text := get(t, g.handler(member), "/teams").Body.String(); strings.Contains(text, "/teams/ads") ||
		!strings.Contains(text, "/teams/search") {
		t.Error("a member does not see the own team alone")
	}
}

func TestOnlyAnOperatorChangesTeams(t *testing.T) {
	g := day(12)
	for _, p := range []access.Person{{Role: access.Viewer}, {Role: access.Member, Teams: []string{"search"}}, {}} {
		for _, path := range []string{"/teams", "/teams/search/edit", "/teams/search/state", "/teams/search/remove", "/teams/search/adjust",
			"/teams/search/raises", "/teams/search/raises/x/end", "/teams/ads/tasks/" + g.tasks[0].ID + "/cancel"} {
			if w := post(t, g.handler(p), path, url.Values{"id": {"x"}, "version": {"1"}}); w.Code != 403 && w.Code != 401 &&
				(w.Code != 404 || !strings.HasPrefix(path, "/teams/ads/")) {
				t.Errorf("role %d, %s: %d", p.Role, path, w.Code)
			}
		}
	}
	task := "/teams/search/tasks/" + g.tasks[0].ID + "/cancel"
	if w := post(t, g.handler(access.Person{Role: access.Viewer}), task, nil); w.Code != 403 {
		t.Errorf("a viewer cancels: %d", w.Code)
	}
	if g.changed != nil {
		t.Errorf("this was changed: %q", g.changed)
	}
	g.refuse = &teams.Problem{Code: teams.CodeConflict, Text: "the service did not take the cancel"}
	if w := post(t, g.handler(operator), task, nil); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), `href="`+strings.TrimSuffix(task, "/cancel")+`"`) {
		t.Errorf("a refused cancel leads not back to its task: %d %s", w.Code, w.Body)
	}
	g.refuse, g.changed = nil, nil
	if w := post(t, g.handler(access.Person{Role: access.Member, Teams: []string{"search"}}), task, nil); w.Code != http.StatusSeeOther ||
		len(g.changed) != 1 {
		t.Errorf("a member cancels a task of the own team: %d, changed %q", w.Code, g.changed)
	}
}

// longTask has every character of a task id, and the maximum length.
var longTask = "A.b_c~d-9" + strings.Repeat("t", 256-9)

func TestWhatAnOperatorDoes(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	for _, tt := range []struct {
		path string
		form url.Values
		to   string
		want string
	}{
		{"/teams", url.Values{"id": {"mill"}, "concurrent": {"5"}}, "/teams/mill?done=created", "create mill"},
		{"/teams/search/state", url.Values{"disabled": {"true"}, "version": {"*"}}, "/teams/search?done=disabled", "change search"},
		{"/teams/search/remove", url.Values{"version": {"1"}}, "/teams?done=removing", "remove search"},
		{"/teams/search/adjust", url.Values{"unit": {"images"}, "delta": {"-5"}, "day": {"2026-11-12"}, "account": {"eu"}, "reason": {"broken"}},
			"/teams/search?done=adjusted", "adjust search images -5 2026-11-12 eu broken 192.0.2.1"},
		{"/teams/search/keys/7f3k9q2m4x00/state", url.Values{"disabled": {"true"}, "version": {"1"}},
			"/teams/search?done=offkey&key=7f3k9q2m4x00", `change key search 7f3k9q2m4x00 {"disabled":true} 1`},
		{"/teams/search/keys/7f3k9q2m4x00/state", url.Values{"disabled": {"false"}}, "/teams/search?done=onkey&key=7f3k9q2m4x00",
			`change key search 7f3k9q2m4x00 {"disabled":false} `},
		{"/teams/search/raises", url.Values{"unit": {"images"}, "period": {"day"}, "amount": {"500"}, "reason": {" launch "}},
			"/teams/search?done=raised&raise=5t8w1z4c7f0h", "raise search images day 500 the end launch"},
		{"/teams/search/raises", url.Values{"unit": {"spend"}, "period": {"month"}, "amount": {"1.5"}, "until": {"2026-11-22T18:30"},
			"reason": {"launch"}}, "/teams/search?done=raised&raise=5t8w1z4c7f0h", "raise search spend month 1.5 2026-11-22T18:30:00Z launch"},
		{"/teams/search/raises/5t8w1z4c7f0h/end", nil, "/teams/search?done=lowered", "end raise search 5t8w1z4c7f0h"},
		{"/teams/search/keys/7f3k9q2m4x00/remove", nil, "/teams/search?done=unkeyed&key=7f3k9q2m4x00", "remove key search 7f3k9q2m4x00"},
		{"/teams/search/tasks/" + g.tasks[0].ID + "/cancel", nil, "/teams/search/tasks/" + g.tasks[0].ID + "?done=canceled",
			"cancel search " + g.tasks[0].ID},
		{"/teams/search/tasks/" + longTask + "/cancel", nil, "/teams/search/tasks/" + longTask + "?done=canceled", "cancel search " + longTask},
	} {
		g.changed = nil
		w := post(t, h, tt.path, tt.form)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != tt.to || !slices.Equal(g.changed, []string{tt.want}) {
			t.Errorf("%s: %d to %s, changed %q", tt.path, w.Code, w.Header().Get("Location"), g.changed)
		}
		if text := get(t, h, "/tasks?"+tt.to[strings.Index(tt.to, "done="):]).Body.String(); !strings.Contains(text, `role="status"`) {
			t.Errorf("%s is not told in words", tt.to)
		}
	}
}

func TestAKeyIsShownOnce(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	for path, form := range map[string]url.Values{"/teams/search/keys": {"note": {"indexer"}, "expires": {"2027-01-31"}},
		"/teams/search/keys/7f3k9q2m4x00/rotate": {"ends": {"day"}}} {
		w := post(t, h, path, form)
		if w.Code != http.StatusCreated || strings.Count(w.Body.String(), "slk_7f3k9q2m4x99_mill") != 1 ||
			w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, %q, the key stands %d times", path, w.Code, w.Header().Get("Cache-Control"),
				strings.Count(w.Body.String(), "slk_7f3k9q2m4x99_mill"))
		}
	}
	if want := []string{"mint search", "rotate search 7f3k9q2m4x00 2026-11-23"}; len(g.changed) != 2 ||
		!slices.Contains(g.changed, want[0]) || !slices.Contains(g.changed, want[1]) {
		t.Errorf("changed %q", g.changed)
	}
	if strings.Contains(get(t, h, "/teams/search").Body.String(), "slk_") {
		t.Error("the team's page has a key")
	}
	if w := post(t, h, "/teams/search/keys", url.Values{"expires": {"soon"}}); w.Code != http.StatusBadRequest ||
		!strings.Contains(w.Body.String(), "Give a day such as") {
		t.Errorf("a day that is none: %d", w.Code)
	}
}

// TestTotalsAreTheSumOfTheirRows, in the page and in its CSV.
func TestTotalsAreTheSumOfTheirRows(t *testing.T) {
	g := day(1000)
	h := g.handler(operator)
	sum := func(root *html.Node, part string) (total float64) {
		for _, row := range all(all(root, part)[len(all(root, part))-1], "tr") {
			x, err := strconv.ParseFloat(attribute(all(row, "data")[0], "value"), 64)
			if err != nil {
				t.Fatal(err)
			}
			total += x
		}
		return total
	}
	sums, total, lines := 0.0, 0.0, 0
	for path := "/money"; path != ""; {
		root := parse(t, get(t, h, path))
		sums, total, lines, path = sums+sum(root, "tbody"), sum(root, "tfoot"), lines+rows(root), next(root)
	}
	if fmt.Sprintf("%.6f", sums) != fmt.Sprintf("%.6f", total) || total == 0 {
		t.Errorf("the rows are %f, the total is %f", sums, total)
	}
	w := get(t, h, "/money.csv?from=2026-11-01&to=2026-11-22&by=team")
	table, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(table) != lines+1 || lines <= 100 {
		t.Errorf("%d lines, %v", len(table), err)
	}
}

// TestHostileTextsStayTexts: they create no element, and none reverses the text that follows.
func TestHostileTextsStayTexts(t *testing.T) {
	g := tongues()
	h := g.handler(operator)
	for name, path := range g.paths() {
		w := get(t, h, path)
		if strings.ContainsAny(w.Body.String(), "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") {
			t.Errorf("%s has characters that turn the text", name)
		}
		for _, n := range all(parse(t, w), "img") {
			if src := attribute(n, "src"); !strings.HasPrefix(src, "https://pictures.example/") {
				t.Errorf("%s has the picture %q", name, src)
			}
		}
		for _, n := range all(parse(t, w), "a") {
			if to := attribute(n, "href"); strings.HasPrefix(strings.ToLower(to), "javascript:") {
				t.Errorf("%s has the link %q", name, to)
			}
		}
	}
}

func TestPicturesComeFromWhereTheyAre(t *testing.T) {
	g := day(12)
	policy := func(pictures string) string {
		g.pictures = pictures
		return get(t, g.handler(operator), "/teams/"+g.tasks[2].Team+"/tasks/"+g.tasks[2].ID).Header().Get("Content-Security-Policy")
	}
	if got := policy("https://pictures.example"); !strings.Contains(got, "img-src 'self' https://pictures.example https://pictures.example;") {
		t.Error(got)
	}
	for _, bad := range []string{"javascript:alert(1)", "https://x;script-src *", "https://*", "data:image/png,", "//pictures.example",
		"https://user@x y"} {
		if got := policy(bad); !strings.Contains(got, "img-src 'self';") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// A task that was cancelled waited until then, and never ran.
func TestACancelledTaskWaitedUntilItsEnd(t *testing.T) {
	g := day(12)
	text := textOf(parse(t, get(t, g.handler(operator), g.paths()["task-canceled"])))
	if !strings.Contains(text, "waited 30.7 s") || strings.Contains(text, "ran ") || strings.Contains(text, "Ran") {
		t.Error(text)
	}
}

// door renders a page before or beside the others.
func door(t *testing.T, name string, data any) *html.Node {
	t.Helper()
	w := httptest.NewRecorder()
	if err := pages.LoginTemplates().ExecuteTemplate(w, name, data); err != nil {
		t.Fatal(err)
	}
	return parse(t, w)
}

type loginPage struct{ Problem, Next, SignOn string }

type unsentPage struct {
	Problem, To, Next string
	Away              bool
	Fields            url.Values
}

type sessionsPage struct {
	Person   access.Person
	Role     string
	Sessions []session
}

type session struct {
	ID, Who, Role, Client, Agent string
	Began, Ends                  time.Time
	Own                          bool
}

func TestTheDoor(t *testing.T) {
	login := door(t, "login", loginPage{"This key is not known.", "/teams", "/login/oidc?next=%2Fteams"})
	form := formOf(t, login, "/login")
	if form.Get("next") != "/teams" || !form.Has("secret") || !strings.Contains(textOf(login), "Sign in with your organization") ||
		!strings.Contains(textOf(login), "This key is not known.") {
		t.Error(textOf(login))
	}
	sessions := door(t, "sessions", sessionsPage{operator, "operator",
		[]session{{ID: "x", Who: hostile[0], Began: noon, Ends: noon, Own: true}}})
	if formOf(t, sessions, "/sessions/end").Get("id") != "x" || !strings.Contains(textOf(sessions), hostile[0]) {
		t.Error(textOf(sessions))
	}
	for _, text := range hostile {
		sessions := door(t, "sessions", sessionsPage{access.Person{Name: text, Role: access.Operator}, text,
			[]session{{ID: text, Who: text, Role: text, Client: text, Agent: text}}})
		if got := textOf(sessions); strings.ContainsAny(got, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") ||
			len(all(sessions, "img")) != 0 {
			t.Errorf("the sessions have characters that turn the text, or a picture: %q", got)
		}
	}
	unsent := door(t, "unsent", unsentPage{"Your session has ended.", "/teams", "/new-team", false, url.Values{"id": hostile[:3]}})
	if got := formOf(t, unsent, "/teams")["id"]; !slices.Equal(got, hostile[:3]) {
		t.Errorf("the form has %q", got)
	}
	for _, fault := range slices.Concat(faultsOf(login), faultsOf(sessions), faultsOf(unsent)) {
		t.Error(fault)
	}
}
