package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/policy/teams"
)

// limitRowOf is the row below that of a limit on a team's page.
func limitRowOf(t *testing.T, root *html.Node, name string) *html.Node {
	t.Helper()
	list := all(root, "tr")
	for i, row := range list {
		if strings.HasPrefix(textOf(row), name) {
			return list[i+1]
		}
	}
	t.Fatalf("no row of %s", name)
	return nil
}

// A raised limit says what it is made of, to everybody who sees it; operators raise it and end raises beside it.
func TestARaisedLimit(t *testing.T) {
	g := day(12)
	for _, who := range []access.Person{operator, {Name: "v", Role: access.Viewer},
		{Name: "m", Role: access.Member, Teams: []string{"search"}}} {
		root := parse(t, get(t, g.handler(who), "/teams/search"))
		row := limitRowOf(t, root, "Images today")
		if text := textOf(row); !strings.Contains(text, "200 + 250 until midnight, launch + 50 until 22 Nov 2026, ") {
			t.Errorf("%s sees %q", who.Name, text)
		}
		forms, other := len(all(row, "form")), len(all(limitRowOf(t, root, "Rate of requests"), "form"))
		if want := map[bool]int{true: 3}[who.Role == access.Operator]; forms != want || other != 0 {
			t.Errorf("%s has %d forms beside a quota and %d beside a rate, want %d and 0", who.Name, forms, other, want)
		}
	}
}

// A raise that is refused shows its fault in the open form of its limit, with what was typed.
func TestARefusedRaise(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	typed := url.Values{"unit": {"images"}, "period": {"day"}, "amount": {"0.5"}, "until": {"2026-11-22T18:30"}, "reason": {`<b>"launch"`}}
	g.refuse = &teams.Problem{Code: teams.CodeUnfit, Field: "amount", Text: `got "0.5", allowed: a whole number above 0`}
	w := post(t, h, "/teams/search/raises", typed)
	row := limitRowOf(t, parse(t, w), "Images today")
	if text := textOf(row); w.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(text, `Got "0.5", allowed: a whole number above 0.`) {
		t.Errorf("%d: %s", w.Code, text)
	}
	for name := range typed {
		for _, input := range all(row, "input") {
			if attribute(input, "name") == name && attribute(input, "value") != typed.Get(name) {
				t.Errorf("%s is %q again", name, attribute(input, "value"))
			}
		}
	}
	if got := attribute(all(limitRowOf(t, parse(t, w), "Spend today"), "input")[3], "value"); got != "" {
		t.Errorf("the form of another limit has %q", got)
	}
	typed.Set("until", "tonight")
	if w := post(t, h, "/teams/search/raises", typed); w.Code != http.StatusBadRequest ||
		!strings.Contains(w.Body.String(), "Give a moment such as 2026-11-22T12:34") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	g.refuse = &teams.Problem{Code: teams.CodeMissing, Text: "the team has no such raise at the moment"}
	if w := post(t, h, "/teams/search/raises/x/end", nil); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
	if g.changed != nil {
		t.Errorf("changed %q", g.changed)
	}
}

// TestAFormRaisesThePeriodInWhichItWasOpened: sent again after midnight, it must not raise the next day, too.
func TestAFormRaisesThePeriodInWhichItWasOpened(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	row := limitRowOf(t, parse(t, get(t, h, "/teams/search")), "Images today")
	form := formOf(t, row, "/teams/search/raises")
	form.Set("amount", "5")
	form.Set("reason", "launch")
	for _, until := range []string{"", "2026-11-22T18:30"} {
		form.Set("until", until)
		post(t, h, "/teams/search/raises", form)
	}
	if diff := cmp.Diff([]string{"raise search images day 5 2026-11-23T00:00:00Z launch",
		"raise search images day 5 2026-11-22T18:30:00Z launch"}, g.changed); diff != "" {
		t.Error(diff)
	}
}

// TestARefusedRaiseOfNoLimitSaysSo: the limit may have gone since the page was opened, and with it the form.
func TestARefusedRaiseOfNoLimitSaysSo(t *testing.T) {
	g := day(12)
	g.refuse = &teams.Problem{Code: teams.CodeConflict, Field: "period", Text: "the team has no quota of tokens a month"}
	w := post(t, g.handler(operator), "/teams/search/raises", url.Values{"unit": {"tokens"}, "period": {"month"}, "amount": {"5"}})
	if text := textOf(parse(t, w)); w.Code != http.StatusConflict || strings.Count(text, "The team has no quota of tokens a month.") != 1 {
		t.Errorf("%d: %s", w.Code, text)
	}
}

// TestThePageAfterAChangeWaitsUntilItIsInForce, and no other page does.
func TestThePageAfterAChangeWaitsUntilItIsInForce(t *testing.T) {
	g, waited := day(12), 0
	deps := g.deps()
	deps.Settled = func(context.Context) { waited++ }
	h := as(pages.New(deps), operator)
	raise := url.Values{"unit": {"images"}, "period": {"day"}, "amount": {"100"}, "reason": {"launch"}}
	if w := post(t, h, "/teams/search/raises", raise); w.Code != http.StatusSeeOther || waited != 1 ||
		w.Header().Get("Location") != "/teams/search?done=raised&raise=5t8w1z4c7f0h" {
		t.Errorf("a raise: %d to %s, waited %d times", w.Code, w.Header().Get("Location"), waited)
	}
	get(t, h, "/teams/search?done=raised&raise=5t8w1z4c7f0h")
	g.refuse = &teams.Problem{Code: teams.CodeUnfit, Field: "amount", Text: "too little"}
	if post(t, h, "/teams/search/raises", raise); waited != 2 { // the page shows the form again, with what is in force
		t.Errorf("waited %d times", waited)
	}
}

// A fault says which field it is about, marks it, and leaves the other forms of the page empty.
func TestAFaultIsOfOneFieldOfOneForm(t *testing.T) {
	g := day(12)
	g.refuse = &teams.Problem{Code: teams.CodeUnfit, Field: "amount", Text: `got "x", allowed: a whole number above 0`}
	root := parse(t, post(t, g.handler(operator), "/teams/search/raises",
		url.Values{"unit": {"images"}, "period": {"day"}, "amount": {"x"}, "reason": {"launch"}}))
	if text := textOf(limitRowOf(t, root, "Images today")); !strings.Contains(text, `By: Got "x", allowed: a whole number above 0.`) {
		t.Errorf("the fault is %q", text)
	}
	for _, form := range all(root, "form") {
		for _, input := range all(form, "input") {
			name, own := attribute(input, "name"), strings.Contains(attribute(form, "action"), "/raises")
			if marked := attribute(input, "aria-invalid") != ""; marked != (own && name == "amount" && attribute(input, "value") == "x") {
				t.Errorf("%s of %s is marked: %v", name, attribute(form, "action"), marked)
			}
			if name == "reason" && !own && attribute(input, "value") != "" {
				t.Errorf("the reason of %s is %q", attribute(form, "action"), attribute(input, "value"))
			}
		}
	}
	g.refuse = nil
	w := post(t, g.handler(operator), "/teams/search/keys", url.Values{"expires": {noon.Format("2006-01-02")}})
	if w.Code != http.StatusBadRequest || !strings.Contains(textOf(parse(t, w)),
		"Ends on: Give a day after today: the key ends as that day begins, in UTC.") {
		t.Errorf("%d for a key that ends today", w.Code)
	}
}
