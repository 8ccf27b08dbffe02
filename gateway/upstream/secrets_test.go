package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func secretsOf(t testing.TB, key string) *Secrets {
	t.Helper()
	base, err := url.Parse("http://service.example:8080/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	return NewSecrets([]Secret{Secret(key)}, []*url.URL{base}, nil)
}

// escaped writes a text as JSON may, each character in one of several spellings.
func escaped(t *rapid.T, text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch form := rapid.IntRange(0, 5).Draw(t, "form"); {
		case form == 0 && c < 0x80:
			fmt.Fprintf(&b, `\u%04x`, c)
		case form == 1 && c < 0x80:
			fmt.Fprintf(&b, `\u%04X`, c)
		case c == '"' || c == '\\' || c == '/' && form == 2:
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// However an error text spells the key in JSON, and JSON in JSON, the key cannot be read from the result; the text keeps
// its length and stays JSON, and a text without the key is unchanged.
func TestTheKeyIsCoveredHoweverItIsSpelt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := "kab0" + rapid.StringOfN(rapid.RuneFrom([]rune(`abu0/"\-_`)), 6, 20, -1).Draw(t, "key")
		c := NewSecrets([]Secret{Secret(key)}, []*url.URL{{Host: "service.example"}}, nil)
		before := rapid.StringOfN(rapid.RuneFrom([]rune(`kxu水\"`)), 0, 8, -1).Draw(t, "before")
		text := escaped(t, before+key+" is wrong")
		for range rapid.IntRange(0, 2).Draw(t, "quoted more") {
			text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		}
		body := `{"code":"Invalid","message":"` + text + `"}`
		covered := []byte(body)
		c.Redact(covered)
		if len(covered) != len(body) {
			t.Fatalf("%s became %s", body, covered)
		}
		var read struct{ Message string }
		if err := json.Unmarshal(covered, &read); err != nil {
			t.Fatalf("%s became %s: %v", body, covered, err)
		}
		for text, n := read.Message, 0; n < 4; n++ {
			if strings.Contains(text, key) || !strings.Contains(text, "***") {
				t.Fatalf("key %s: %s became %s, of which %q is read", key, body, covered, text)
			}
			var next string
			if json.Unmarshal([]byte(`"`+text+`"`), &next) != nil {
				break
			}
			text = next
		}
	})
}

// A key with backslashes in a row needs more room between its letters than one without.
func TestAKeyOfManyBackslashesIsCovered(t *testing.T) {
	c := secretsOf(t, `kaaa\\\"`)
	spelled := "kaaa" + strings.Repeat(`\\\\u005c`, 3) + strings.Repeat(`\`, 7) + `"`
	if got := c.Cover(spelled); got != strings.Repeat("*", len(spelled)) {
		t.Errorf("%q became %q", spelled, got)
	}
}

func TestWhatIsNotTheKeyStays(t *testing.T) {
	c := secretsOf(t, "sk-abcdef")
	for _, text := range []string{
		"", "s", "sk-abcde", "sk-abcdex", "sk_abcdef", `sk\u002eabcdef`, `\u0073\u006b-abcde`, `\u0073k\u002dabcde\u0067`, `\`, `\u`, `\u00`,
		`\u007`, `\u0073`, `a\nb\tc "error" \u003cb\u003e \u00e9`, "service.exampl", strings.Repeat(`\`, 100), strings.Repeat("sk-", 100),
	} {
		if got := c.Cover(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"sk-abcdefsk-abcdef":        strings.Repeat("*", 18),
		"sk-sk-abcdef":              "sk-*********",
		`sk\u002dabcdef`:            strings.Repeat("*", 14),
		`"\u0073k-abcdef"`:          `"` + strings.Repeat("*", 14) + `"`,
		`\\u0073k-abcdef`:           `\\` + strings.Repeat("*", 13),
		`\\\u0073k-abcdef`:          `\\` + strings.Repeat("*", 14),
		`sk\\u002dabc\\\u0064ef`:    strings.Repeat("*", 22),
		`\sk-abcdef`:                strings.Repeat("*", 10),
		"http://service.example:80": "http://" + strings.Repeat("*", 15) + ":80",
		"service.example:8080":      strings.Repeat("*", 20),
		"x service\\u002eexample":   "x " + strings.Repeat("*", 20),
	} {
		if got := c.Cover(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// The keys and addresses of all accounts are covered, and those that the last changes replaced: answers to requests with such a key
// still arrive, also after the key of another account was replaced. The oldest of very many are forgotten.
func TestTheSecretsOfAllAccountsAreCovered(t *testing.T) {
	base := func(host string) *url.URL { return &url.URL{Scheme: "https", Host: host, Path: "/api/v1"} }
	first := NewSecrets([]Secret{"sk-first-key", "sk-other-key"}, []*url.URL{base("north.example"), base("south.example")}, nil)
	second := NewSecrets([]Secret{"sk-second-key", "sk-other-key"}, []*url.URL{base("north.example")}, first)
	third := NewSecrets([]Secret{"sk-third-key"}, []*url.URL{base("north.example")}, second)
	many := third
	for n := range 100 {
		many = NewSecrets([]Secret{Secret(fmt.Sprint("sk-key-", n))}, []*url.URL{base(fmt.Sprint(n, ".example"))}, many)
	}
	texts := []string{"sk-first-key", "sk-second-key", "sk-third-key", "sk-other-key", "north.example", "south.example"}
	for _, tt := range []struct {
		name   string
		s      *Secrets
		covers string // by text, x: covered
	}{
		{"at first", first, "x--xxx"},
		{"after a key was replaced and an account removed", second, "xx-xxx"},
		{"after the same change was read again", NewSecrets([]Secret{"sk-second-key", "sk-other-key"}, []*url.URL{base("north.example")},
			second), "xx-xxx"},
		{"after another change", third, "xxxxxx"},
		{"after a hundred changes", many, "------"},
	} {
		for i, text := range texts {
			if covered := tt.s.Cover(text) == strings.Repeat("*", len(text)); covered != (tt.covers[i] == 'x') {
				t.Errorf("%s: %s is covered: %v", tt.name, text, covered)
			}
		}
	}
}

func TestNamedHeadersAreCovered(t *testing.T) {
	h := http.Header{"Content-Type": {"service.example/sk-key"}, "Retry-After": {"sk-key at service.example"}, "Date": {"sk-key"}}
	secretsOf(t, "sk-key").CoverHeader(h, []string{"Content-Type", "Retry-After", "Server"})
	want := http.Header{"Content-Type": {"service.example/******"}, "Retry-After": {"****** at ***************"}, "Date": {"sk-key"}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("%v", h)
	}
}
