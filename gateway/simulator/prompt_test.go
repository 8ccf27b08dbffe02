package simulator

import (
	"net/http/httptest"
	"testing"
)

// readJSON reads a chat request as the service does.
func readJSON(t *testing.T, body string) *prompt {
	t.Helper()
	c := &call{r: httptest.NewRequest("POST", textPath, nil), body: []byte(body)}
	if err := c.parse(); err != nil {
		t.Fatal(err)
	}
	return readPrompt(c)
}

func TestReadPrompt(t *testing.T) {
	for _, tt := range []struct {
		name, input string
		question    string
		afterTool   bool
		text        int
	}{
		{"one message", `{"messages":[{"role":"user","content":"a gate"}]}`, "a gate", false, 6},
		{"the last user's words", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, "c", false, 15},
		{"not the assistant's", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "a", false, 10},
		{"items are joined", `{"messages":[{"role":"user","content":[{"text":"a"},{"text":"gate"}]}]}`, "a gate", false, 6},
		{"after a tool", `{"messages":[{"role":"user","content":"a"},{"role":"tool","content":"7"}]}`, "a", true, 10},
		{"before a tool", `{"messages":[{"role":"tool","content":"7"},{"role":"user","content":"a"}]}`, "a", false, 10},
		{"prompt", `{"prompt":"a gate"}`, "a gate", false, 6},
		{"prompt with history", `{"prompt":"c","history":[{"user":"a","bot":"b"}]}`, "c", false, 15},
		{"messages beat the prompt", `{"prompt":"x y z","messages":[{"role":"user","content":"a"}]}`, "a", false, 5},
		{"Chinese", `{"messages":[{"role":"user","content":"水闸"}]}`, "水闸", false, 6},
	} {
		p := readJSON(t, `{"model":"m","input":`+tt.input+`}`)
		if p.question != tt.question || p.afterTool != tt.afterTool || p.text != tt.text || p.inputTokens() != tt.text {
			t.Errorf("%s: question %q, after a tool %v, %d tokens; want %q, %v, %d",
				tt.name, p.question, p.afterTool, p.text, tt.question, tt.afterTool, tt.text)
		}
	}
}
