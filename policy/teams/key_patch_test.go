package teams_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/policy/teams"
)

// A change of a key is a merge patch: what it does not name stays at any depth, null removes, and neither null nor an empty object is kept.
func TestAChangeOfAKeyIsAMergePatch(t *testing.T) {
	const id = "aaaaaaaaaaaa"
	const some = `{"concurrent":4,"quotas":{"images":{"day":50,"month":900},"spend":{"month":12.50}},"rates":{"requests":{"burst":90,` +
		`"limit":60,"per":"1m"}}}`
	for _, tt := range []struct{ name, before, change, after, field string }{
		{"another period", some, `{"quotas":{"images":{"day":40}}}`, strings.Replace(some, `"day":50`, `"day":40`, 1), ""},
		{"another unit", `{"quotas":{"images":{"day":50}}}`, `{"quotas":{"tokens":{"month":7}}}`,
			`{"quotas":{"images":{"day":50},"tokens":{"month":7}}}`, ""},
		{"no period", some, `{"quotas":{"images":{"day":null}}}`, strings.Replace(some, `"day":50,`, "", 1), ""},
		{"the last period", `{"quotas":{"images":{"day":50}}}`, `{"quotas":{"images":{"day":null}}}`, `{}`, ""},
		{"no unit", some, `{"quotas":{"images":null}}`, strings.Replace(some, `"images":{"day":50,"month":900},`, "", 1), ""},
		{"no quotas", some, `{"quotas":null}`, `{"concurrent":4,"rates":{"requests":{"burst":90,"limit":60,"per":"1m"}}}`, ""},
		{"what it never had", `{}`, `{"quotas":{"images":{"day":null},"spend":null},"rates":null,"models":null}`, `{}`, ""},
		{"a part of a rate", some, `{"rates":{"requests":{"limit":30}}}`, strings.Replace(some, `"limit":60`, `"limit":30`, 1), ""},
		{"no burst", some, `{"rates":{"requests":{"burst":null}}}`, strings.Replace(some, `"burst":90,`, "", 1), ""},
		{"another rate", some, `{"rates":{"tokens":{"per":"1m","limit":5}}}`,
			strings.Replace(some, `"per":"1m"}}`, `"per":"1m"},"tokens":{"limit":5,"per":"1m"}}`, 1), ""},
		{"as documented", some, documentedChange(t), strings.Replace(some, `"day":50,"month":900`, `"day":40`, 1), ""},
		{"a list as a whole", `{"models":["a","b"]}`, `{"models":["c"]}`, `{"models":["c"]}`, ""},
		{"its state only", some, `{"disabled":true}`, strings.Replace(some, `{"con`, `{"disabled":true,"con`, 1), ""},
		{"no state", `{"disabled":true,"concurrent":4}`, `{"disabled":null}`, `{"concurrent":4}`, ""},

		{"a rate without its time", `{}`, `{"rates":{"requests":{"limit":30}}}`, "", "rates.requests"},
		{"a rate that loses its limit", some, `{"rates":{"requests":{"limit":null}}}`, "", "rates.requests"},
		{"an unknown unit", some, `{"quotas":{"colours":null}}`, "", "quotas.colours"},
		{"an unknown member", some, `{"note":null}`, "", "note"},
		{"an empty list", some, `{"models":[]}`, "", "models"},
		{"null in a list", some, `{"models":[null]}`, "", "models[0]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := func(limits string) string {
				return strings.Replace(`{"id":"`+id+`","sha256":"`+strings.Repeat("ab", 32)+`",`+limits[1:], ",}", "}", 1)
			}
			d, err := teams.ReadDocument([]byte(`{"version":1,"teams":[{"id":"search","keys":[` + of(tt.before) + `]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			d, _, err = teams.Apply(d, teams.ChangeKey{Team: "search", Key: id, IfMatch: "*", Members: []byte(tt.change)})
			problem, ok := err.(*teams.Problem) //nolint:errorlint // Apply returns it as it is
			if ok && problem.Field == tt.field && tt.field != "" {
				return
			}
			if err != nil || tt.field != "" {
				t.Fatalf("%v, want a fault of %q", err, tt.field)
			}
			got, err := json.Marshal(d.Teams[0].Keys[0])
			if want := of(tt.after); err != nil || string(got) != want {
				t.Errorf("%s, %v\nwant %s", got, err, want)
			}
		})
	}
}

// documentedChange is the body of the PATCH of a key that docs/money.md shows.
func documentedChange(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("`([^`]+)` changes these two alone").FindSubmatch(page)
	if shown == nil {
		t.Fatal("docs/money.md shows no change of a key")
	}
	return string(shown[1])
}

// A new key keeps nothing null, and one that replaces another has the limits of that, merged with those of the order.
func TestANewKeyKeepsNothingNull(t *testing.T) {
	d, err := teams.ReadDocument([]byte(`{"version":1,"teams":[{"id":"search","keys":[{"id":"aaaaaaaaaaaa","sha256":"` +
		strings.Repeat("ab", 32) +
		`","quotas":{"images":{"day":50},"spend":null}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ replaces, quotas, want string }{
		{"", `{"images":null,"spend":{"day":1,"month":null}}`, `{"spend":{"day":1}}`},
		{"", `{"images":{"day":null}}`, ""},
		{"aaaaaaaaaaaa", `{"tokens":{"day":9}}`, `{"images":{"day":50},"tokens":{"day":9}}`},
		{"aaaaaaaaaaaa", `null`, ""},
	} {
		order := teams.KeyOrder{Replaces: tt.replaces, KeyMembers: teams.KeyMembers{Quotas: json.RawMessage(tt.quotas)}}
		made, _, err := teams.Apply(d, teams.AddKey{Team: "search", Minted: minted(t, 1), Order: order, Now: today})
		if err != nil {
			t.Fatalf("%s: %v", tt.quotas, err)
		}
		if got := string(made.Teams[0].Keys[1].Members["quotas"]); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.quotas, got, tt.want)
		}
	}
}
