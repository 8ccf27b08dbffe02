package pages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

// TestTheFormKeepsWhatItShows: saving a team unchanged changes nothing.
func TestTheFormKeepsWhatItShows(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	form := formOf(t, parse(t, get(t, h, "/teams/search/edit")), "/teams/search/edit")
	if w := post(t, h, "/teams/search/edit", form); w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body.String())
	}
	team, err := g.Show(t.Context(), operator, "search")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(team.Members), texts(g.fields)); diff != "" {
		t.Error(diff)
	}
	form.Set("quotas.spend.day", "1.23e-7")
	post(t, h, "/teams/search/edit", form)
	if got := texts(g.fields)["quotas"]; !strings.Contains(got, `"day":1.23e-7`) {
		t.Errorf("the quotas are %s", got)
	}
	form.Set("quotas.spend.day", "")
	form.Set("quotas.images.day", "many")
	form.Set("endpoints", "text")
	form.Set("members", "search-team\r\nbob@example.com\r\n")
	form.Set("self_service", "true")
	post(t, h, "/teams/search/edit", form)
	want := texts(team.Members)
	want["quotas"], want["endpoints"], want["members"], want["self_service"] = `{"images":{"day":"many"},"spend":{"month":800.00}}`,
		`["text"]`, `["search-team","bob@example.com"]`, "true"
	if diff := cmp.Diff(want, texts(g.fields)); diff != "" {
		t.Error(diff)
	}
}

// TestTagQuotasAreEdited: a team's page shows how the values of its tag stand, and its form has their quotas.
func TestTagQuotasAreEdited(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	page := textOf(parse(t, get(t, h, "/teams/search")))
	for _, want := range []string{"Quotas of each project", "100 images a month", "spend of 5.00 CNY a day", "for requests without it",
		"without project", "4 more values"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	form := formOf(t, parse(t, get(t, h, "/teams/search/edit")), "/teams/search/edit")
	if form.Get("tag_key") != "project" {
		t.Errorf("the form has the tag %q", form.Get("tag_key"))
	}
	form.Set("tag_key", "user")
	form.Set("tag_quotas.spend.day", "5.00")
	form.Set("tag_quotas.images.month", "100")
	post(t, h, "/teams/search/edit", form)
	if got := texts(g.fields); got["tag_quotas"] != `{"images":{"month":100},"spend":{"day":5.00}}` || got["tag_key"] != `"user"` {
		t.Errorf("%v", got)
	}
}

// TestAnEmptyFieldTakesItsMemberAway, and the parent that it leaves empty.
func TestAnEmptyFieldTakesItsMemberAway(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	form := formOf(t, parse(t, get(t, h, "/teams/search/edit")), "/teams/search/edit")
	for _, name := range []string{"quotas.images.day", "quotas.spend.day", "quotas.spend.month", "rules", "models", "members", "description"} {
		form.Set(name, " ")
	}
	post(t, h, "/teams/search/edit", form)
	if diff := cmp.Diff(map[string]string{"rates": `{"requests":{"per":"1m","limit":600,"burst":60}}`, "tag_key": `"project"`},
		texts(g.fields)); diff != "" {
		t.Error(diff)
	}
}

func texts(f map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for name, value := range f {
		out[name] = strings.NewReplacer(`"burst":60,"limit":600,"per":"1m"`, `"per":"1m","limit":600,"burst":60`).Replace(string(value))
	}
	return out
}

func TestALostRaceIsToldInWords(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	form := formOf(t, parse(t, get(t, h, "/teams/search/edit")), "/teams/search/edit")
	g.elsewhere = true // another change was faster
	form.Set("rates.requests.limit", "700")
	w := post(t, h, "/teams/search/edit", form)
	root := parse(t, w)
	if w.Code != http.StatusPreconditionFailed || g.changed != nil ||
		!strings.Contains(textOf(root), "Somebody else changed this team while you were editing. Your change was not made.") {
		t.Fatalf("%d, changed %q", w.Code, g.changed)
	}
	if typed := attribute(byID(t, root, "f-rates-requests-limit"), "value"); typed != "700" {
		t.Errorf("the form has %q, want what was typed", typed)
	}
	if now := textOf(byID(t, root, "f-rates-requests-limit-hint")); now != "In force now: 600" {
		t.Errorf("beside it stands %q", now)
	}
	if w := post(t, h, "/teams/search/edit", formOf(t, root, "/teams/search/edit")); w.Code != http.StatusSeeOther || len(g.changed) != 1 {
		t.Errorf("saving again: %d, changed %q", w.Code, g.changed)
	}
}

func TestAnErrorStandsNearItsField(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	for field, id := range map[string]string{"rates.requests.per": "f-rates-requests-per", "models[1]": "f-models",
		"quotas.spend": "f-quotas-spend-day", "rules.image.zzz": "f-rules", "id": "f-id", "": ""} {
		g.refuse = &teams.Problem{Code: teams.CodeInvalid, Field: field, Text: "got <b>, allowed: something else"}
		w := post(t, h, "/teams", url.Values{"id": {"mill"}, "rates.requests.per": {"<2ms>"}})
		root := parse(t, w)
		if w.Code != http.StatusBadRequest || !strings.Contains(textOf(root), "Nothing was changed.") {
			t.Errorf("%s: %d", field, w.Code)
		}
		if id == "" {
			continue
		}
		if n := byID(t, root, id); attribute(n, "aria-invalid") != "true" ||
			!strings.Contains(textOf(byID(t, root, id+"-hint")), "Got <b>, allowed: something else.") {
			t.Errorf("%s is not marked, or its error is not beside it", field)
		}
	}
	g.refuse.Field = "delta"
	w := post(t, h, "/teams/search/adjust", url.Values{"unit": {"images"}, "delta": {"much"}, "reason": {"broken"}})
	form := formOf(t, parse(t, w), "/teams/search/adjust")
	if w.Code != http.StatusBadRequest || form.Get("delta") != "much" || form.Get("reason") != "broken" ||
		strings.Count(w.Body.String(), `role="alert"`) != 1 {
		t.Errorf("%d, the form has %v", w.Code, form)
	}
}

// TestPagesSayWhatDefaultsRestrict: shadow mode, models and endpoints that a team has from the file's defaults are shown as its own are.
func TestPagesSayWhatDefaultsRestrict(t *testing.T) {
	g := day(12)
	file, err := teams.Parse([]byte("defaults: {shadow: true, models: [llm-plus*], endpoints: [text]}\nteams: [{id: search}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	g.file = file
	h := g.handler(operator)
	for path, wants := range map[string][]string{
		"/teams/search":      {"its limits refuse nothing", "Modelsllm-plus*", "Endpointstext"},
		"/teams?only=shadow": {"search"},
		"/new-team":          {"Empty: the default, llm-plus*.", "None ticked: the default, text.", "the default, on"},
	} {
		page := strings.Join(strings.Fields(textOf(parse(t, get(t, h, path)))), " ")
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
	}
}
