package simulator

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// refusalOf sends a body in process and returns the message of the refusal,
// empty if there is none.
func refusalOf(t *testing.T, s *Simulator, path, body string, header ...string) string {
	t.Helper()
	w := serveOnce(s, path, body, header...)
	data := w.Body.Bytes()
	if _, frame, ok := bytes.Cut(data, []byte("event:error")); ok {
		_, data, _ = bytes.Cut(frame, []byte("data:"))
	} else if w.Code == 200 {
		return ""
	}
	var e struct{ Code, Message string }
	if err := json.Unmarshal(data, &e); err != nil || e.Message == "" {
		t.Fatalf("refusal is no error: %s", w.Body)
	}
	return e.Code + " " + e.Message
}

// verdict is one row of a rule table: a change to a request and the text of its refusal, empty if it passes.
type verdict struct {
	name, change, refusal string
}

// judge plays a rule table on a path.
func judge(t *testing.T, s *Simulator, path string, request func(string) string, header []string, table []verdict) {
	t.Helper()
	for _, v := range table {
		t.Run(v.name, func(t *testing.T) {
			said := refusalOf(t, s, path, request(v.change), header...)
			if (said == "") != (v.refusal == "") || !strings.Contains(said, v.refusal) {
				t.Errorf("%s\nsaid %q, want %q", v.change, said, v.refusal)
			}
		})
	}
}

func TestModelRules(t *testing.T) {
	s := New(Config{})
	whole := func(body string) string { return body }
	const in = `"input":{"messages":[{"role":"user","content":"hi"}]}`
	judge(t, s, textPath, whole, nil, []verdict{
		{"known", `{"model":"llm-plus",` + in + `}`, ""},
		{"missing", `{` + in + `}`, "InvalidParameter model is required"},
		{"empty", `{"model":"",` + in + `}`, "InvalidParameter model is required"},
		{"no string", `{"model":7,` + in + `}`, "InvalidParameter model is required"},
		{"names are case-sensitive", `{"Model":"llm-plus",` + in + `}`, "InvalidParameter model is required"},
		{"no parameters", `{"model":"llm-plus",` + in + `}`, ""},
		{"null parameters", `{"model":"llm-plus","parameters":null,` + in + `}`, ""},
		{"parameters that are none", `{"model":"llm-plus","parameters":[],` + in + `}`, "parameters must be an object"},
	})
}

func TestRanges(t *testing.T) {
	for _, tt := range []struct {
		span string
		v    any
		want string
	}{
		{"[0, 1]", .5, ""},
		{"[0, 1]", 0., ""},
		{"[0, 1]", 1., ""},
		{"[0, 1]", -.1, "must be in [0, 1]"},
		{"[0, 1]", 1.1, "must be in [0, 1]"},
		{"(0, 1]", 0., "must be in (0, 1]"},
		{"[0, 2)", 2., "must be in [0, 2)"},
		{"(0, +Inf]", 1e300, ""},
		{"[0, 1]", "1", "must be a number"},
	} {
		if got := number(tt.span)(tt.v); got != tt.want {
			t.Errorf("%v in %s says %q, want %q", tt.v, tt.span, got, tt.want)
		}
	}
	if a, b := integers("[0, 4]")(4.), integers("[0, 4]")(1.5); a != "" || b != "must be an integer" {
		t.Errorf("whole numbers: %q, %q", a, b)
	}
}

func TestMembersAreReadLeniently(t *testing.T) {
	o := object{"s": "text", "n": 7., "half": 1.5, "huge": 1e300, "null": nil, "o": object{"s": "inner"}}
	if get[string](o, "o", "s") != "inner" || get[string](nil, "a", "b") != "" || get[object](o, "s") != nil || get[bool](o, "n") {
		t.Error("members of another kind, or of nothing, have values")
	}
	for name, want := range map[string]int{"n": 7, "half": -1, "huge": -1, "s": -1, "null": -1, "absent": -1} {
		if got := integer(o, name, -1); got != want {
			t.Errorf("integer %s is %d, want %d", name, got, want)
		}
	}
}
