package pages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

const keyForm = "/teams/search/keys/7f3k9q2m4x00/edit"

// A key's own limits are shown to everybody who sees the team; those who make its keys change them in the form of a team's limits.
func TestTheLimitsOfAKeyAreEdited(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	if text := textOf(parse(t, get(t, h, "/teams/search"))); !strings.Contains(text,
		"60 requests per 1m, 50 images a day, 12.5 CNY a month, 4 at once, only gen2.6-*") {
		t.Errorf("the page lacks the key's limits: %s", text)
	}
	form := formOf(t, parse(t, get(t, h, keyForm)), keyForm)
	if hint := textOf(byID(t, parse(t, get(t, h, keyForm)), "f-models-hint")); !strings.Contains(hint, "Empty: those of its team.") {
		t.Errorf("of no models it says %q", hint)
	}
	team, _ := g.Show(t.Context(), operator, "search")
	if form.Get("quotas.images.day") != "50" || form.Get("models") != "gen2.6-*" || form.Has("endpoints") ||
		form.Get("version") != team.ETag() {
		t.Errorf("the form has %v", form)
	}
	for name, value := range map[string]string{"quotas.images.day": "40", "quotas.spend.month": "", "concurrent": "", "models": " ",
		"rates.tokens.limit": "1000", "rates.tokens.per": "1m"} {
		form.Set(name, value)
	}
	w := post(t, h, keyForm, form)
	want := `change key search 7f3k9q2m4x00 {"concurrent":null,"models":null,"quotas":{"images":{"day":40,"month":null},` +
		`"requests":{"day":null,"month":null},"spend":{"day":null,"month":null},` +
		`"tokens":{"day":null,"month":null}},"rates":{"images":{"burst":null,"limit":null,"per":null},"requests":{"burst":null,"limit":60,` +
		`"per":"1m"},"tokens":{"burst":null,"limit":1000,"per":"1m"}}} ` + team.ETag()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/teams/search/keys/7f3k9q2m4x00?done=limited" ||
		cmp.Diff([]string{want}, g.changed) != "" {
		t.Errorf("%d to %s, changed %q", w.Code, w.Header().Get("Location"), g.changed)
	}
}

// A new key has limits of its own from the start; a fault stands at its field, with what was typed.
func TestANewKeyHasLimits(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	form := formOf(t, parse(t, get(t, h, "/teams/search")), "/teams/search/keys")
	form.Set("quotas.images.day", "50")
	if w := post(t, h, "/teams/search/keys", form); w.Code != http.StatusCreated ||
		cmp.Diff(map[string]string{"quotas": `{"images":{"day":50}}`}, texts(g.fields)) != "" {
		t.Errorf("%d, limits %s", w.Code, g.fields)
	}
	g.refuse = &teams.Problem{Code: teams.CodeInvalid, Field: "quotas.images.day", Text: `got "many", allowed: a whole number`}
	form.Set("quotas.images.day", "many")
	w := post(t, h, "/teams/search/keys", form)
	root := parse(t, w)
	if field := byID(t, root, "f-quotas-images-day"); w.Code != http.StatusBadRequest || attribute(field, "value") != "many" ||
		attribute(field, "aria-invalid") != "true" {
		t.Errorf("%d, the field has %q", w.Code, attribute(field, "value"))
	}
	if got := textOf(byID(t, root, "f-quotas-images-day-hint")); !strings.Contains(got, `Got "many"`) {
		t.Errorf("beside it stands %q", got)
	}
	if w := post(t, h, keyForm, form); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `aria-invalid="true"`) {
		t.Errorf("the form of the limits: %d", w.Code)
	}
}

// Somebody else's change of the team is not overwritten unseen.
func TestALostRaceForAKeysLimits(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	form := formOf(t, parse(t, get(t, h, keyForm)), keyForm)
	g.elsewhere = true
	form.Set("concurrent", "5")
	root := parse(t, post(t, h, keyForm, form))
	if now := textOf(byID(t, root, "f-concurrent-hint")); g.changed != nil || now != "In force now: 4" {
		t.Errorf("changed %q, beside the field stands %q", g.changed, now)
	}
	if w := post(t, h, keyForm, formOf(t, root, keyForm)); w.Code != http.StatusSeeOther {
		t.Errorf("saving again: %d", w.Code)
	}
}

func TestWhoEditsTheLimitsOfKeys(t *testing.T) {
	member := access.Person{Name: "m", Role: access.Member, Teams: []string{"search"}}
	for _, tt := range []struct {
		about       string
		p           access.Person
		selfService bool
		path        string
		status      int
	}{
		{"an operator", operator, false, keyForm, 200},
		{"a viewer", access.Person{Role: access.Viewer}, true, keyForm, 403},
		{"a member", member, false, keyForm, 403},
		{"a member who makes keys", member, true, keyForm, 200},
		{"a member of another team", access.Person{Role: access.Member, Teams: []string{"ads"}}, true, keyForm, 404},
		{"a key of the teams file", operator, false, "/teams/ads/keys/7f3k9q2m4x00/edit", 409},
		{"no key", operator, false, "/teams/search/keys/zzz/edit", 404},
	} {
		g := day(12)
		g.elsewhere = tt.selfService
		h := g.handler(tt.p)
		if w := get(t, h, tt.path); w.Code != tt.status {
			t.Errorf("%s: %d, want %d", tt.about, w.Code, tt.status)
		}
		if want := map[bool]int{true: 1}[tt.status == 200]; len(g.changed) != 0 {
			t.Errorf("%s: changed %q", tt.about, g.changed)
		} else if post(t, h, tt.path, url.Values{"version": {"*"}, "concurrent": {"1"}}); len(g.changed) != want && !tt.selfService {
			t.Errorf("%s: changed %q", tt.about, g.changed)
		}
		links := strings.Contains(get(t, h, "/teams/search").Body.String(), keyForm)
		if links != (tt.status == 200) && tt.path == keyForm {
			t.Errorf("%s: the team's page has a link to the form: %v", tt.about, links)
		}
	}
}

// mintedKey is the id of a new key.
const mintedKey = "7f3k9q2m4x99"

// keyMembers are limits of a key as its owner wrote them, and keyLimits their meaning.
var (
	keyMembers = map[string]json.RawMessage{
		"quotas":     json.RawMessage(`{"images":{"day":50},"spend":{"month":12.50}}`),
		"rates":      json.RawMessage(`{"requests":{"per":"1m","limit":60}}`),
		"concurrent": json.RawMessage(`4`), "models": json.RawMessage(`["gen2.6-*"]`),
	}
	keyLimits = teams.KeyLimits{
		Quotas: []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 50},
			{Unit: unit.NameSpend, Period: teams.PeriodMonth, Limit: 12_500_000_000}},
		Rates:      []teams.Rate{{Unit: unit.NameRequests, Per: time.Minute, PerText: "1m", Limit: 60, Burst: 60}},
		Concurrent: 4, Models: []policy.Pattern{"gen2.6-*"},
	}
)
