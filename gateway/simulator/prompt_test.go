package simulator

import (
	"net/http/httptest"
	"testing"

	"sluice/gateway/simulator/picture"
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

func TestPromptHash(t *testing.T) {
	const same = `{"model":"m","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"seed":1}}`
	first := readJSON(t, same).hash
	if readJSON(t, same).hash != first {
		t.Error("the same request has two hashes")
	}
	for name, body := range map[string]string{
		"model": `{"model":"n","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"seed":1}}`,
		"words": `{"model":"m","input":{"messages":[{"role":"user","content":"b"}]},"parameters":{"seed":1}}`,
		"seed":  `{"model":"m","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"seed":257}}`,
		"turns": `{"model":"m","input":{"messages":[{"role":"user","content":"a"},{"role":"user","content":""}]},"parameters":{"seed":1}}`,
	} {
		if readJSON(t, body).hash == first {
			t.Errorf("another %s has the same hash", name)
		}
	}
	// Parameters that set the answer's form do not change its text.
	if readJSON(t, `{"model":"m","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"seed":1,"stream":true}}`).hash != first {
		t.Error("a parameter of the form changes the hash")
	}
}

func TestScaled(t *testing.T) {
	for _, tt := range []struct {
		name             string
		from             picture.Size
		parameters, item object
		want             picture.Size
		tokens           int
	}{
		{"small enough", picture.Size{W: 560, H: 280}, nil, nil, picture.Size{W: 560, H: 280}, 200},
		{"least", picture.Size{W: 1, H: 1}, nil, nil, picture.Size{W: 56, H: 56}, 4},
		{"by default", picture.Size{W: 4000, H: 4000}, nil, nil, picture.Size{W: 1008, H: 1008}, 1296},
		{"by parameter", picture.Size{W: 560, H: 280}, object{"max_pixels": 28. * 28 * 50}, nil, picture.Size{W: 280, H: 140}, 50},
		{"the item's own word", picture.Size{W: 560, H: 280}, object{"max_pixels": 28. * 28 * 50}, object{"max_pixels": 28. * 28 * 200}, picture.Size{W: 560, H: 280}, 200},
		{"below the least", picture.Size{W: 560, H: 560}, object{"max_pixels": 1.}, nil, picture.Size{W: 56, H: 56}, 4},
		{"high resolution", picture.Size{W: 4000, H: 4000}, object{"vl_high_resolution_images": true, "max_pixels": 1.}, nil, picture.Size{W: 4004, H: 4004}, 143 * 143},
		{"beyond high resolution", picture.Size{W: 8000, H: 8000}, object{"vl_high_resolution_images": true}, nil, picture.Size{W: 4088, H: 4088}, 146 * 146},
	} {
		got := scaled(tt.from, tt.parameters, tt.item)
		if got != tt.want || imageTokens(got) != tt.tokens {
			t.Errorf("%s: %v is seen as %v in %d tokens, want %v in %d", tt.name, tt.from, got, imageTokens(got), tt.want, tt.tokens)
		}
	}
}
