package pages_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy/teams"
)

// TestAFreshConsoleSaysWhatComes: each page says what will be there, and how to get it, without a table or an amount of nothing.
func TestAFreshConsoleSaysWhatComes(t *testing.T) {
	deps := empty().deps()
	unpriced := as(pages.New(deps), operator)
	file, err := teams.Parse([]byte("currency: CNY\nprices: [{model: llm-plus, output_per_million: 2}]\nteams: []"))
	if err != nil {
		t.Fatal(err)
	}
	deps.File = func() *teams.File { return file }
	priced := as(pages.New(deps), operator)
	for path, want := range map[string][2]string{ // without prices, with them
		"/now":      {"the teams file has no prices", "nothing was charged since midnight UTC"},
		"/teams":    {"There is no team yet. Make one here", ""},
		"/tasks":    {"No task yet. A program makes one", ""},
		"/requests": {"No request yet. The newest 10,000", ""},
		"/money":    {"Write prices into the teams file", "What a request costs is here as soon as it has ended"},
		"/latency":  {"Times appear within ten seconds of the first one", ""},
		"/refusals": {"A refusal appears here within ten seconds", ""},
		"/events":   {"A hook sends events", ""},
		"/audit":    {"becomes an entry here", ""},
	} {
		for i, h := range []http.Handler{unpriced, priced} {
			root := parse(t, get(t, h, path))
			text := textOf(root)
			if want := cmp.Or(want[i], want[0]); !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %s", path, want, text)
			}
			if n := len(all(root, "table")); n != 0 || strings.Contains(text, "0.00") || strings.Contains(text, "0 %") ||
				strings.Contains(text, "CSV") || strings.Contains(text, "Verify") {
				t.Errorf("%s has %d tables, and shows what is nothing: %s", path, n, text)
			}
		}
	}
	if text, _ := money(t, "/money", figures.Money{Rows: []figures.Row{{Name: "search"}}}); !strings.Contains(text,
		"Nothing was charged in these days. Write prices") || strings.Contains(text, "Forecast") {
		t.Errorf("Money without prices: %s", text)
	}
	if text := textOf(parse(t, get(t, unpriced, "/rules"))); strings.Contains(text, "Warned") ||
		!strings.Contains(text, "No request broke a rule") {
		t.Errorf("the rules count nothing: %s", text)
	}
}

// TestTheAgeOfAnOpenTaskIsSeen, in whole minutes, and old ones can be chosen.
func TestTheAgeOfAnOpenTaskIsSeen(t *testing.T) {
	h := day(12).handler(operator)
	text := get(t, h, "/tasks").Body.String()
	for _, want := range []string{`<span class="state running">running</span> <small>7 min</small>`,
		`<span class="state pending">pending</span> <small>9 min</small>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the tasks lack %s", want)
		}
	}
	if strings.Contains(text, "<small>0 min") || strings.Count(text, " min</small>") != 4 { // 20 s and 29 s, 7, 9, 29 and 34 min
		t.Errorf("the ages are of %d tasks", strings.Count(text, " min</small>"))
	}
	root := parse(t, get(t, h, "/tasks?age=10m"))
	if text := textOf(root); strings.Contains(text, "7 min") || !strings.Contains(text, "29 min") || !strings.Contains(text, "Show all") {
		t.Errorf("those older than ten minutes are %s", text)
	}
}
