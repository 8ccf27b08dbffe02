package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refuses sends a body in process, and wants a refusal that has these words in its code and message, or none.
func refuses(t *testing.T, s *Simulator, name, path, body, words string, header ...string) {
	t.Helper()
	w, said := serveOnce(s, path, body, header...), ""
	data := w.Body.Bytes()
	_, frame, inStream := bytes.Cut(data, []byte("event:error"))
	if inStream {
		_, data, _ = bytes.Cut(frame, []byte("data:"))
	}
	if inStream || w.Code != 200 {
		var e struct{ Code, Message string }
		if err := json.Unmarshal(data, &e); err != nil || e.Message == "" {
			t.Fatalf("%s: the refusal is no error: %s", name, w.Body)
		}
		said = e.Code + " " + e.Message
	}
	if (said == "") != (words == "") || !strings.Contains(said, words) {
		t.Errorf("%s: %.200s\nsaid %q, want %q", name, body, said, words)
	}
}

// The rules as data: a file of testdata/rules holds changes to one request, and words of their refusals. A line is
// "name: change => words", or without an arrow if the change passes.
func TestRules(t *testing.T) {
	user := func(content string) string { return `{"role":"user","content":[` + content + `]}` }
	message := func(model string) func(string) string {
		return func(message string) string {
			return fmt.Sprintf(`{"model":%q,"input":{"messages":[%s]}}`, model, message)
		}
	}
	input := func(in string) string { return `{"model":"llm-plus","input":` + in + `}` }
	tables := map[string]struct {
		path    string
		header  []string
		request func(change string) string
	}{
		"model":           {textPath, nil, func(body string) string { return body }},
		"chat-messages":   {textPath, nil, input},
		"chat-prompt":     {textPath, nil, input},
		"chat-parameters": {textPath, nil, func(parameters string) string { return say("What is a sluice? Answer in JSON.", parameters) }},
		"json-input": {textPath, nil, func(in string) string {
			return `{"model":"llm-plus","input":{` + in + `},"parameters":{"response_format":{"type":"json_object"}}}`
		}},
		"chat-items":         {multimodalPath, nil, func(item string) string { return message("llm-vision")(user(item)) }},
		"sync-image":         {multimodalPath, nil, draw},
		"sync-image-message": {multimodalPath, nil, message("llm-image-2.0-pro-2026-06-22")},
		"edit-parameters":    {imagePath, async, edit},
		"edit-size":          {imagePath, async, func(size string) string { return edit(`"size":"` + size + `"`) }},
		"edit-message":       {imagePath, async, message("gen2.6-image")},
		"other-image-models": {imagePath, async, func(content string) string {
			return fmt.Sprintf(`{"model":"gen2.6-t2i","input":{"messages":[%s]},"parameters":{"size":"64*64"}}`, user(content))
		}},
		"interleaved": {imagePath, asyncSSE, func(change string) string {
			parameters, content, _ := strings.Cut(change, "|")
			return fmt.Sprintf(`{"model":"gen2.6-image","input":{"messages":[%s]},"parameters":{"enable_interleave":true,"stream":true%s}}`,
				user(cmp.Or(content, `{"text":"A quiet lake"}`)), parameters)
		}},
		"older-image":       {olderPath, async, older},
		"older-image-input": {olderEditPath, async, input},
	}
	files, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil || len(files) != len(tables) {
		t.Fatalf("%d files for %d tables, %v", len(files), len(tables), err)
	}
	for _, file := range files {
		table, s := tables[strings.TrimSuffix(filepath.Base(file), ".txt")], New(Config{})
		text, err := os.ReadFile(file)
		if err != nil || table.request == nil {
			t.Fatalf("%s: %v", file, err)
		}
		for line := range strings.Lines(string(text)) {
			name, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			if !ok { // the file's heading
				continue
			}
			change, words, refused := strings.Cut(strings.TrimPrefix(rest, " "), " => ")
			if refused && words == "" {
				t.Fatalf("%s: %s: no words", file, name)
			}
			refuses(t, s, file+": "+name, table.path, table.request(change), words, table.header...)
		}
	}
}

// The rules about headers.
func TestRulesOfHeaders(t *testing.T) {
	const noSync, noAsync = "AccessDenied current user api does not support synchronous calls.",
		"AccessDenied current user api does not support asynchronous calls."
	s, disabled := New(Config{}), []string{"X-Service-Async", "disable"}
	stream := func(name, value string) []string { return append([]string{name, value}, async...) }
	for _, tt := range []struct {
		name, path, body, words string
		header                  []string
	}{
		{"text as a task", textPath, say("hi", ""), noAsync, async},
		{"text, disabled", textPath, say("hi", ""), "", disabled},
		{"image as a task", multimodalPath, draw(""), noAsync, async},
		{"image, disabled", multimodalPath, draw(""), "", disabled},
		{"edit", imagePath, edit(""), noSync, nil},
		{"edit, disabled", imagePath, edit(""), noSync, disabled},
		{"edit as a task", imagePath, edit(""), "", []string{"x-service-async", "ENABLE"}},
		{"older image", olderPath, older(""), noSync, nil},
		{"older image as a task", olderPath, older(""), "", async},
		{"older edit, disabled", olderEditPath, older(""), noSync, disabled},
		{"older edit as a task", olderEditPath, older(""), "", async},
		{"a tale, by header and parameter", imagePath, tale(streamedTale), "", asyncSSE},
		{"a tale, by Accept", imagePath, tale(streamedTale), "", stream("Accept", "text/event-stream")},
		{"a tale, header only", imagePath, tale(`"enable_interleave":true`), "", asyncSSE},
		{"a tale, null and header", imagePath, tale(`"enable_interleave":true,"stream":null`), "", asyncSSE},
		{"a tale, false and header", imagePath, tale(`"enable_interleave":true,"stream":false`), "stream must be true", asyncSSE},
		{"a tale, parameter only", imagePath, tale(streamedTale), "X-Service-Sse must be enable", async},
		{"a tale, header disabled", imagePath, tale(streamedTale), "X-Service-Sse must be enable", stream("X-Service-Sse", "disable")},
		{"a repeated member counts by its last value", imagePath, strings.Replace(edit(""), `"parameters":{}`,
			`"parameters":{"n":1},"parameters":{"n":9}`, 1), "parameters.n", async},
		{"a size of another kind", imagePath, edit(`"size":1280`), "size must be a string", async},
	} {
		refuses(t, s, tt.name, tt.path, tt.body, tt.words, tt.header...)
	}
}

func TestRanges(t *testing.T) {
	for _, tt := range []struct {
		span string
		v    any
		want string
	}{
		{"[0, 1]", 0., ""}, {"[0, 1]", 1., ""}, {"[0, 1]", -.1, "must be in [0, 1]"}, {"[0, 1]", 1.1, "must be in [0, 1]"},
		{"(0, 1]", 0., "must be in (0, 1]"}, {"[0, 2)", 2., "must be in [0, 2)"}, {"(0, +Inf]", 1e300, ""}, {"[0, 1]", "1", "must be a number"},
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
			if got := s.Tally(); len(got.Executed) == 0 && got.Tokens+got.Images > 0 {
				t.Errorf("%q was refused and billed %+v", body, got)
			}
		}
	})
}
