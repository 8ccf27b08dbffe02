package telemetry

import (
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
)

func captured(t *testing.T, asked, answered string) map[attribute.Key]string {
	t.Helper()
	c := content{on: true}
	for piece := range strings.SplitAfterSeq(answered, "e") { // in pieces, as it arrives
		c.keep([]byte(piece))
	}
	var written attributes
	writeContent(&written, &c, &SpanInfo{Parameters: &Parameters{Body: []byte(asked)}, Secrets: covering("CANARY-S")})
	values := make(map[attribute.Key]string)
	for _, kv := range written {
		text := kv.Value.AsString()
		if !json.Valid([]byte(text)) || len(text) > maxContent {
			t.Errorf("%s is no JSON of at most %d bytes: %d bytes, %.100s", kv.Key, maxContent, len(text), text)
		}
		values[kv.Key] = text
	}
	return values
}

// Captured content has the form of the conventions, whatever form the service's has.
func TestContent(t *testing.T) {
	for _, tt := range []struct{ name, asked, answered, instructions, input, output string }{
		{
			"text",
			`{"input":{"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"Hi"}]}}`,
			`{"output":{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}}`,
			`[{"type":"text","content":"Be short."}]`, `[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`,
			`[{"role":"assistant","parts":[{"type":"text","content":"Hello"}],"finish_reason":"stop"}]`,
		},
		{
			"prompt and pictures",
			`{"input":{"prompt":"p","messages":[{"role":"user","content":[{"text":"a"},{"image":"https://e.x/1.png"},` +
				`{"image":"data:image/png;base64,CANARY"}]}]}}`,
			`{"output":{"choices":[{"message":{"content":[{"image":"https://e.x/2.png"}]},"finish_reason":"null"}]}}`,
			"", `[{"role":"user","parts":[{"type":"text","content":"p"}]},{"role":"user","parts":[{"type":"text","content":"a"},{"type":"uri",` +
				`"uri":"https://e.x/1.png"},{"type":"blob"}]}]`,
			`[{"role":"assistant","parts":[{"type":"uri","uri":"https://e.x/2.png"}]}]`,
		},
		{
			"a stream of increments", `{}`,
			"id:1\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"Riv\"},\"finish_reason\":\"null\"}]}}\n\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"er\"},\"finish_reason\":\"stop\"}]}}\n\n",
			"", "", `[{"role":"assistant","parts":[{"type":"text","content":"River"}],"finish_reason":"stop"}]`,
		},
		{
			"a stream of the text so far", `{}`,
			"data:{\"output\":{\"text\":\"Riv\"}}\n\ndata:{\"output\":{\"text\":\"River\",\"finish_reason\":\"stop\"}}\n\n",
			"", "", `[{"role":"assistant","parts":[{"type":"text","content":"River"}],"finish_reason":"stop"}]`,
		},
		{
			"a secret in pieces and escapes", `{"input":{"prompt":"CANARY-S is the client's own word"}}`,
			"data:{\"output\":{\"text\":\"Key \\u0043ANAR\"}}\n\ndata:{\"output\":{\"text\":\"Y-S!\",\"finish_reason\":\"CANARY-S\"}}\n\n",
			"", `[{"role":"user","parts":[{"type":"text","content":"CANARY-S is the client's own word"}]}]`,
			`[{"role":"assistant","parts":[{"type":"text","content":"Key ********!"}],"finish_reason":"********"}]`,
		},
		{"nonsense", `[`, "\x00", "", "", ""},
		{"other types", `{"input":{"messages":[{"role":"user","content":7}],"prompt":3}}`, `{"output":{"choices":7}}`, "",
			`[{"role":"user","parts":null}]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := captured(t, tt.asked, tt.answered)
			for key, want := range map[attribute.Key]string{genInstructions: tt.instructions, genInputMessages: tt.input,
				genOutputMessages: tt.output} {
				if got[key] != want {
					t.Errorf("%s is\n%s, want\n%s", key, got[key], want)
				}
			}
		})
	}
}

// However long the content is, a span has little of it.
func TestContentIsCut(t *testing.T) {
	long := strings.Repeat(`<ü&"\u0001`, 20_000)
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	many := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":`+string(text[:20])+`"},`, 30), ",")
	got := captured(t, `{"input":{"prompt":`+string(text)+`,"messages":[`+many+`]}}`, `{"output":{"text":"`+strings.Repeat("a", 60_000)+`"}}`)
	if len(got[genInputMessages]) < 100 || len(got[genOutputMessages]) < 1000 {
		t.Errorf("too little is left: %d and %d bytes", len(got[genInputMessages]), len(got[genOutputMessages]))
	}
	if got := captured(t, `{"input":{"prompt":"`+strings.Repeat("a", longestCaptured)+`"}}`, strings.Repeat("data:", 1<<20)); len(got) != 0 {
		t.Errorf("a text that is too long is read: %v", got)
	}
}
