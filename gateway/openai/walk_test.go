package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// document draws a JSON value, with white space anywhere.
func document(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 3
		if depth == 0 {
			kinds = 1
		}
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 1:
			return "[" + space.Draw(t, "space") + strings.Join(rapid.SliceOfN(document(depth-1), 0, 3).Draw(t, "elements"), " ,\n") + "]"
		case 2:
			var members []string
			for i := range rapid.IntRange(0, 3).Draw(t, "members") {
				name := string(rune('a'+i)) + rapid.SampledFrom([]string{"", `\"`, `\\`, `\u0065`, "é", "{", "]"}).Draw(t, "name")
				members = append(members, `"`+name+`"`+space.Draw(t, "space")+":"+space.Draw(t, "space")+document(depth-1).Draw(t, "value"))
			}
			return "{" + strings.Join(members, ",") + space.Draw(t, "space") + "}"
		}
		return rapid.SampledFrom([]string{`"a"`, `""`, `"\""`, `"\\"`, `"\\\""`, `"[{,"`, `"词"`, "1.50", "-0", "1e5", "true", "false", "null"}).Draw(t, "scalar")
	})
}

// TestWalk: a walk sees the members and elements that encoding/json sees, as they are written.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(document(4).Draw(t, "document"))
		var members map[string]json.RawMessage
		_ = json.Unmarshal(text, &members) // of an array or a scalar there are none
		seen := 0
		for w := walkObject(text); w.member(); seen++ {
			if raw, ok := members[string(w.name)]; !ok || string(raw) != string(w.value) {
				t.Fatalf("%s: the member %q is %q, want %q", text, w.name, w.value, raw)
			}
		}
		if seen != len(members) {
			t.Fatalf("%s: %d members, want %d", text, seen, len(members))
		}
		var elements []json.RawMessage
		_ = json.Unmarshal(text, &elements)
		var got []string
		for w := walkArray(text); w.element(); {
			got = append(got, string(w.value))
		}
		if !slices.EqualFunc(got, elements, func(a string, b json.RawMessage) bool { return a == string(b) }) {
			t.Fatalf("%s: %q, want %q", text, got, elements)
		}
	})
}

// TestGeneratedChats: what is not OpenAI's passes as it is written, in its order, and the result is one document.
func TestGeneratedChats(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`x_[a-z]{1,6}`), 0, 6, rapid.ID).Draw(r, "names")
		var body, want strings.Builder
		body.WriteString(`{"model":"llm-max","messages":[{"role":"user","content":"Hi"}]`)
		for _, name := range names {
			value := document(3).Draw(r, "value")
			body.WriteString(`,"` + name + `":` + value)
			if value != "null" {
				want.WriteString(`,"` + name + `":` + value)
			}
		}
		body.WriteString("}")
		got, err := Chat([]byte(body.String()), testModels)
		if err != nil {
			r.Fatal(err)
		}
		if text := `{"model":"llm-max","input":{"messages":[{"role":"user","content":"Hi"}]},"parameters":{"result_format":"message"` + want.String() + "}}"; string(got.Body) != text {
			r.Fatalf("%s, want %s", got.Body, text)
		}
		mustBeJSON(t, got.Body)
	})
}
