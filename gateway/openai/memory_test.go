package openai

import (
	"runtime"
	"strings"
	"testing"
)

// TestBodiesTakeNoMultipleOfTheirMemory: the gateway takes memory for a body and for its translation from its budget, so no body
// may make more.
func TestBodiesTakeNoMultipleOfTheirMemory(t *testing.T) {
	const length = 8 << 20
	begin := `{"model":"llm-max","messages":[{"role":"user","content":"x"}`
	for story, c := range map[string]struct {
		body string
		most int // bytes that may be allocated
	}{
		"one long message":              {`{"model":"llm-max","messages":[{"role":"user","content":"` + strings.Repeat("x", length) + `"}]}`, length * 5 / 4},
		"messages that are none":        {begin + strings.Repeat(",0", length/2) + `]}`, length * 5 / 4},
		"messages with a role alone":    {begin + strings.Repeat(`,{"role":"user"}`, length/16) + `]}`, length * 5 / 4},
		"no end":                        {begin + strings.Repeat(`,{"role":"user"}`, length/16), length / 8},
		"another document after it":     {begin + strings.Repeat(",0", length/2) + `]}{}`, length / 8},
		"a string that is cut":          {`{"model":"` + strings.Repeat("x", length), length / 8},
		"a member that is not a string": {`{"model":"llm-max","messages":[` + strings.Repeat("[],", length/3) + `[]],x}`, length / 8},
	} {
		t.Run(story, func(t *testing.T) {
			body := []byte(c.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Chat(body, new(Models))
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > uint64(c.most) {
				t.Errorf("%d bytes allocated for a body of %d (%v)", made, len(body), err)
			}
		})
	}
}
