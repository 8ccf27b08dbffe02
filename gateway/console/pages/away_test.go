package pages_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Without Redis the page lists the teams that this replica knows. It shows no figures, and links to no page that needs Redis.
func TestTeamsAreListedWhileRedisIsAway(t *testing.T) {
	g := day(12)
	g.away = true
	w := get(t, g.handler(operator), "/teams?sort=near")
	page := parse(t, w)
	text := textOf(page)
	for _, want := range []string{"this replica knows", "is not known now", "12 teams", g.list[3].ID, g.list[3].Description, "disabled"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there", want)
		}
	}
	for _, never := range []string{"Spend", "Nearest limit", "no limit", "since midnight", "New team", "refused today"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is there", never)
		}
	}
	for _, a := range all(all(page, "table")[0], "a") {
		if to := attribute(a, "href"); strings.HasPrefix(to, "/teams/") {
			t.Error("a link to", to)
		}
	}
	if w.Code != http.StatusOK || len(all(all(page, "thead")[0], "th")) != len(all(all(page, "tfoot")[0], "td"))+1 {
		t.Errorf("status %d, %d columns", w.Code, len(all(all(page, "thead")[0], "th")))
	}
}

// TestAFormSaysThatItCannotBeSaved: before anything is typed, and if Redis goes away meanwhile, with what was typed.
func TestAFormSaysThatItCannotBeSaved(t *testing.T) {
	g := day(12)
	form := get(t, g.handler(operator), "/new-team").Body.String()
	if strings.Contains(form, "disabled") || strings.Contains(form, "at the moment") {
		t.Error("the form cannot be saved")
	}
	g.away = true
	form = get(t, g.handler(operator), "/new-team").Body.String()
	if !strings.Contains(form, `<button class="primary" disabled>`) || !strings.Contains(form, "No team can be made at the moment.") {
		t.Error("the form does not say that it cannot be saved")
	}
	g.refuse = teams.Away("the directory cannot be used at the moment", nil)
	w := post(t, g.handler(operator), "/teams", url.Values{"id": {"mill"}, "description": {"grinds"}})
	if text := w.Body.String(); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(text, "The directory cannot be used at the moment.") || !strings.Contains(text, `value="grinds"`) {
		t.Errorf("%d: %s", w.Code, textOf(parse(t, w)))
	}
}

// TestAFormThatMayHaveBeenCountedCountsOnce: sent again with other fields after a fault, or as it was while its outcome is not known.
func TestAFormThatMayHaveBeenCountedCountsOnce(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	const adjust, raises = "/teams/search/adjust", "/teams/search/raises"
	for _, path := range []string{adjust, raises} {
		form := formOf(t, parse(t, get(t, h, "/teams/search")), path)
		if form.Get("once") == "" {
			t.Fatalf("%s: no order", path)
		}
		g.refuse = &teams.Problem{Code: teams.CodeConflict, Field: "delta", Text: "too little"}
		if shown := formOf(t, parse(t, post(t, h, path, form)), path); shown.Get("once") != form.Get("once") {
			t.Errorf("%s after a fault is %q, and was %q", path, shown.Get("once"), form.Get("once"))
		}
		g.refuse = teams.Away("it may or may not have been posted", nil)
		form["reason"] = []string{`<b>"counted twice"`}
		w := post(t, h, path, form)
		page := parse(t, w)
		if again := formOf(t, page, path); w.Code != http.StatusServiceUnavailable || cmp.Diff(form, again) != "" ||
			!strings.Contains(textOf(page), "is counted once") {
			t.Errorf("%s: %d, again %s", path, w.Code, cmp.Diff(form, again))
		}
		form.Del("once")
		if text := post(t, h, path, form).Body.String(); strings.Contains(text, "counted once") {
			t.Errorf("%s without an order: %s", path, text)
		}
		g.refuse = nil
	}
	once := func() string { return formOf(t, parse(t, get(t, h, "/teams/search")), adjust).Get("once") }
	if first, second := once(), once(); first == second {
		t.Error("two pages have one order")
	}
}

// TestAFormThatWasSentBeforeSaysSo, as after the browser's way back, where it has its old order: it is not counted again.
func TestAFormThatWasSentBeforeSaysSo(t *testing.T) {
	deps := day(12).deps()
	deps.Teams, deps.Raises = before{deps.Teams}, raisedBefore{}
	h := as(pages.New(deps), operator)
	for _, path := range []string{"/teams/search/adjust", "/teams/search/raises"} {
		w := post(t, h, path, url.Values{"once": {"one"}, "delta": {"5"}})
		if w.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d", path, w.Code)
		}
		const want = "This form was sent before, and counted once."
		if text := textOf(parse(t, get(t, h, w.Header().Get("Location")))); !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// before are teams whose corrections were posted, raisedBefore the raises that were made.
type (
	before       struct{ pages.Teams }
	raisedBefore struct{ pages.Raises }
)

func (before) Adjust(context.Context, access.Actor, string, console.Correction) (limit.Adjustment, error) {
	return limit.Adjustment{}, console.ErrAgain
}

func (raisedBefore) Add(context.Context, access.Actor, string, teams.RaiseOrder) (teams.Raise, error) {
	return teams.Raise{}, console.ErrAgain
}

// TestAPageThatIsAwaySaysWhich: a heading alone could be any page's.
func TestAPageThatIsAwaySaysWhich(t *testing.T) {
	deps := day(12).deps()
	deps.Figures = few{galleryFigures{day(12)}}
	h := as(pages.New(deps), operator)
	if text := textOf(parse(t, get(t, h, "/tasks"))); !strings.Contains(text, "Tasks is not available at the moment") ||
		strings.Contains(text, "Nothing was changed") {
		t.Error(text)
	}
}

// TestOneIsNoPlural: on the page of a team that sent its first request.
func TestOneIsNoPlural(t *testing.T) {
	deps := day(12).deps()
	deps.Figures = few{galleryFigures{day(12)}}
	if text := textOf(parse(t, get(t, as(pages.New(deps), operator), "/teams/search"))); !strings.Contains(text,
		"1 request, 85 tokens, 1 image") {
		t.Error(text)
	}
}

// few are the figures of a team with one request, and of no tasks, which cannot be read.
type few struct{ galleryFigures }

func (few) Team(context.Context, access.Person, string) (figures.TeamFigures, error) {
	return figures.TeamFigures{Days: []figures.Row{{Name: "2026-11-22", Use: figures.Use{Used: limit.Amounts{1, 85, 1, 0}}}}}, nil
}

func (few) TaskList(context.Context, access.Person, figures.TaskFilter) (figures.TaskList, error) {
	return figures.TaskList{}, errors.New("away")
}
