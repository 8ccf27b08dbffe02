package teamform

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

// TestAFormThatIsSavedUnchangedChangesNothing, whatever the file's defaults are: what stands against a default stays.
func TestAFormThatIsSavedUnchangedChangesNothing(t *testing.T) {
	for _, document := range []string{
		`{}`,
		`{"shadow":false}`,
		`{"shadow":true,"self_service":true}`,
		`{"rates":{"requests":"none"}}`,
		`{"rates":{"requests":"none","tokens":{"per":"10s","limit":5,"burst":9}},"quotas":{"images":{"day":"none","month":0},` +
			`"spend":{"day":1.25}}}`,
		`{"concurrent":"none","open_tasks":3,"share":"none","key_days":"none","queue":{"wait":"none","depth":7}}`,
		`{"tag_key":"none"}`,
		`{"tag_key":"project","tag_quotas":{"tokens":{"day":"none"}},"rules":{"image.prompt.length":"off"}}`,
		`{"models":["*"],"endpoints":["text","other"],"regions":["eu"],"description":"x","members":["a@example.com"],"hooks":"none",` +
			`"alert":[50]}`,
	} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(document), &members); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(t, document), text(t, saved(filled(members), Team()).Members(members))); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAKeysFormThatIsSavedUnchangedChangesNothing, whether the key is made with it or changed by it.
func TestAKeysFormThatIsSavedUnchangedChangesNothing(t *testing.T) {
	for _, document := range []string{
		`{}`,
		`{"rates":{"requests":"none"}}`,
		`{"rates":{"requests":"none","tokens":{"per":"10s","limit":5,"burst":9}},"quotas":{"images":{"day":"none","month":0}},"concurrent":4}`,
		`{"models":["llm-*"],"quotas":{"spend":{"day":1.25}},"concurrent":"none"}`,
	} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(document), &members); err != nil {
			t.Fatal(err)
		}
		form := Key()
		form.Fill(members)
		form = saved(form, Key())
		if diff := cmp.Diff(sorted(t, document), text(t, form.Members(nil))); diff != "" {
			t.Errorf("as a new key's: %s", diff)
		}
		changed := merged(t, document, form.Change())
		if diff := cmp.Diff(sorted(t, document), sorted(t, changed)); diff != "" {
			t.Errorf("as a change: %s", diff)
		}
	}
}

// TestAKeysRateIsChangedFromNoneAndTo.
func TestAKeysRateIsChangedFromNoneAndTo(t *testing.T) {
	const limited, none = `{"rates":{"requests":{"burst":9,"limit":5,"per":"10s"}}}`, `{"rates":{"requests":"none"}}`
	for _, tt := range []struct{ was, typed, want string }{
		{limited, "none", none}, {none, "5", `{"rates":{"requests":{"limit":5,"per":"1m"}}}`}, {none, "", `{}`},
	} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(tt.was), &members); err != nil {
			t.Fatal(err)
		}
		form := Key()
		form.Fill(members)
		values := url.Values{}
		form.Each(func(f *Field) { values.Set(f.Name, f.Value) })
		values.Set("rates.requests.limit", tt.typed)
		form.Typed(values)
		if got := sorted(t, merged(t, tt.was, form.Change())); got != sorted(t, tt.want) {
			t.Errorf("%s with %q is %s, want %s", tt.was, tt.typed, got, tt.want)
		}
	}
}

// merged is the document of a key's limits after a change.
func merged(t *testing.T, document string, change []byte) string {
	t.Helper()
	key := `{"id":"aaaaaaaaaaaa","sha256":"` + strings.Repeat("ab", 32) + `",` + document[1:]
	d, err := teams.ReadDocument([]byte(`{"version":1,"teams":[{"id":"search","keys":[` + strings.Replace(key, ",}", "}", 1) + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if d, _, err = teams.Apply(d, teams.ChangeKey{Team: "search", Key: "aaaaaaaaaaaa", IfMatch: "*", Members: change}); err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	if d.Teams[0].Keys[0].Members == nil {
		return "{}"
	}
	return text(t, d.Teams[0].Keys[0].Members)
}

// filled is a team's form with its members, and with defaults that restrict.
func filled(members map[string]json.RawMessage) Form {
	file, err := teams.Parse([]byte("defaults: {shadow: true, models: [llm-plus*], endpoints: [text], concurrent: 8, rates: {requests: " +
		"{per: 1m, limit: 600}}, quotas: {images: {day: 5}}}\nteams: []\n"))
	if err != nil {
		panic(err)
	}
	form := Team()
	form.Defaults(file.Defaults())
	form.Fill(members)
	return form
}

// saved is a form as its page submits it, read into an empty one.
func saved(shown, form Form) Form {
	values := url.Values{}
	shown.Each(func(f *Field) {
		switch {
		case f.Value == "" && (f.Kind == kindFlag || f.Kind == kindChecks): // nothing is ticked
		case f.Kind == kindChecks:
			values[f.Name] = strings.Split(f.Value, "\n")
		default:
			values.Set(f.Name, strings.ReplaceAll(f.Value, "\n", "\r\n"))
		}
	})
	form.Typed(values)
	return form
}

func text(t *testing.T, members map[string]json.RawMessage) string {
	t.Helper()
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return sorted(t, string(b))
}

// sorted writes a document with its members in order.
func sorted(t *testing.T, document string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNoneTakesTheDefaultOfARateAway, and an empty field takes none away.
func TestNoneTakesTheDefaultOfARateAway(t *testing.T) {
	kept := map[string]json.RawMessage{"rates": json.RawMessage(`{"requests":"none"}`)}
	for typed, want := range map[string]string{"none": `{"rates":{"requests":"none"}}`, "": `{}`,
		"5": `{"rates":{"requests":{"limit":5,"per":"1m"}}}`} {
		form := filled(kept)
		form.Typed(url.Values{"rates.requests.limit": {typed}})
		if got := text(t, form.Members(kept)); got != want {
			t.Errorf("%q gives %s, want %s", typed, got, want)
		}
	}
	limited := map[string]json.RawMessage{"rates": json.RawMessage(`{"requests":{"per":"10s","limit":5,"burst":9}}`)}
	form := filled(limited)
	form.Typed(url.Values{"rates.requests.limit": {"none"}, "rates.requests.per": {"10s"}, "rates.requests.burst": {"9"}})
	if got := text(t, form.Members(limited)); got != `{"rates":{"requests":"none"}}` {
		t.Errorf("none beside a burst gives %s", got)
	}
}

// TestAFieldSaysWhatItsDefaultIs, and not what it would be without one.
func TestAFieldSaysWhatItsDefaultIs(t *testing.T) {
	said := map[string]string{}
	filled(nil).Each(func(f *Field) { said[f.Name] = f.Default + "; " + f.Means() })
	for name, want := range map[string]string{
		"models": "llm-plus*; Empty: the default, llm-plus*.", "endpoints": "text; None ticked: the default, text.", "shadow": "on; ",
		"concurrent": "8; ", "rates.requests.limit": "600; ", "quotas.images.day": "5; ", "regions": "; Empty: all.", "share": "; Empty: 1.",
	} {
		if said[name] != want {
			t.Errorf("%s says %q, want %q", name, said[name], want)
		}
	}
}
