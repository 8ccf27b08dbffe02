package simulator

import (
	"encoding/json"
	"strings"
	"testing"
)

// Any body on any path gets an answer: JSON or frames, never a panic, and a refusal costs nothing.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		say("What is a sluice?", `"n":2,"logprobs":true`), say("json", levels), edit(`"n":2`), draw(`"size":"16*16"`),
		older(``), tale(`"stream":true`), `{"model":"m","input":{"prompt":"hi","history":[{"user":"a","bot":"b"}]}}`,
		`{"model":"llm-image","input":{"messages":[{"role":"user","content":[null]}]},"parameters":{"stop":[[]]}}`,
	} {
		for path := range uint8(5) {
			f.Add(path, true, body)
		}
	}
	paths := []string{textPath, multimodalPath, imagePath, olderPath, tasksPath + "/abc/cancel"}
	f.Fuzz(func(t *testing.T, path uint8, stream bool, body string) {
		s := New(Config{})
		for _, header := range [][]string{nil, async} {
			if stream {
				header = append([]string{"Accept", "text/event-stream"}, header...)
			}
			w := serveOnce(s, paths[int(path)%len(paths)], body, header...)
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
				got{status: w.Code, header: w.Header(), body: w.Body.String()}.events(t)
			} else if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%q is answered %d %q", body, w.Code, w.Body)
			}
			if got := s.Tally(); len(got.Executed) == 0 && len(got.Spent) > 0 {
				t.Errorf("%q was refused and billed %v", body, got.Spent)
			}
		}
	})
}
