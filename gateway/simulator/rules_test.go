package simulator

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
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
			if said := refusalOf(t, s, table.path, table.request(change), table.header...); (said != "") != refused || !strings.Contains(said, words) {
				t.Errorf("%s: %s: %s\nsaid %q, want %q", file, name, change, said, words)
			}
		}
	}
}

// What is longer than a table's line.
func TestRulesOfLongTexts(t *testing.T) {
	s := New(Config{})
	for body, want := range map[string]string{
		edit(`"negative_prompt":"` + strings.Repeat("雾", 501) + `"`):            "", // is cut, not refused
		strings.Replace(edit(``), "A quiet lake", strings.Repeat("湖", 2001), 1): "",
		edit(`"size":1280`): "size must be a string",
	} {
		if said := refusalOf(t, s, imagePath, body, async...); (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%.200s\nsaid %q, want %q", body, said, want)
		}
	}
}

func TestAsyncHeaderWhereNothingIsAsynchronous(t *testing.T) {
	s := New(Config{})
	for path, body := range map[string]string{textPath: say("hi", ""), multimodalPath: draw("")} {
		if said := refusalOf(t, s, path, body, async...); said != "AccessDenied current user api does not support asynchronous calls." {
			t.Errorf("%s: said %q", path, said)
		}
		if said := refusalOf(t, s, path, body, "X-Service-Async", "disable"); said != "" {
			t.Errorf("%s: disabled, said %q", path, said)
		}
	}
}

func TestInterleavedNeedsAStream(t *testing.T) {
	const body = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"a"}]}]},"parameters":{"enable_interleave":true`
	for _, tt := range []struct {
		name, more, header, value, want string
	}{
		{"both", `,"stream":true}}`, "X-Service-Sse", "enable", ""},
		{"both, by Accept", `,"stream":true}}`, "Accept", "text/event-stream", ""},
		{"header only", `}}`, "X-Service-Sse", "enable", ""},
		{"null and header", `,"stream":null}}`, "X-Service-Sse", "enable", ""},
		{"false and header", `,"stream":false}}`, "X-Service-Sse", "enable", "stream must be true"},
		{"parameter only", `,"stream":true}}`, "X-A", "", "X-Service-Sse must be enable"},
		{"header disabled", `,"stream":true}}`, "X-Service-Sse", "disable", "X-Service-Sse must be enable"},
	} {
		got := refusalOf(t, New(Config{}), imagePath, body+tt.more, append([]string{tt.header, tt.value}, async...)...)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: said %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestInputImageRules(t *testing.T) {
	s := New(Config{})
	padded := func(size int) string {
		return dataURI("image/png", append(pngOf(240, 240, true), make([]byte, size-len(pngOf(240, 240, true)))...))
	}
	for _, tt := range []struct{ name, uri, want string }{
		{"smallest", dataURI("image/png", pngOf(240, 240, true)), ""},
		{"too narrow", dataURI("image/png", pngOf(239, 240, true)), "240 to 8000"},
		{"too low", dataURI("image/png", pngOf(240, 239, true)), "240 to 8000"},
		{"largest", dataURI("image/bmp", bmpOf(8000, 8000)), ""},
		{"too wide", dataURI("image/bmp", bmpOf(8001, 8000)), "240 to 8000"},
		{"too high", dataURI("image/bmp", bmpOf(8000, 8001)), "240 to 8000"},
		{"with alpha", dataURI("image/png", pngOf(240, 240, false)), "no alpha"},
		{"ten megabytes", padded(10 << 20), ""},
		{"one byte more", padded(10<<20 + 1), "larger than 10 MB"},
		{"a gif", "data:image/gif;base64,R0lG", "format other than"},
		{"not what it says", dataURI("image/jpeg", pngOf(240, 240, true)), "not an image of its media type"},
		{"broken", "data:image/png;base64,?", "Base64 data URI"},
	} {
		body := strings.Replace(edit(``), "https://images.example/in.png", tt.uri, 1)
		if said := refusalOf(t, s, imagePath, body, async...); (said == "") != (tt.want == "") || !strings.Contains(said, tt.want) {
			t.Errorf("%s: said %q, want %q", tt.name, said, tt.want)
		}
	}
}

func TestAsyncHeaderIsRequired(t *testing.T) {
	s := New(Config{})
	for _, path := range []string{imagePath, olderPath, olderEditPath} {
		body := edit("")
		if path != imagePath {
			body = older("")
		}
		for _, tt := range []struct {
			header []string
			want   string
		}{
			{nil, "AccessDenied current user api does not support synchronous calls."},
			{[]string{"X-Service-Async", "disable"}, "AccessDenied current user api does not support synchronous calls."},
			{[]string{"X-Service-Async", "enable"}, ""},
			{[]string{"x-service-async", "ENABLE"}, ""},
		} {
			if got := refusalOf(t, s, path, body, tt.header...); got != tt.want {
				t.Errorf("%s with %q said %q, want %q", path, tt.header, got, tt.want)
			}
		}
	}
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

// dataURI returns the bytes as a data URI.
func dataURI(media string, raw []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(raw)
}

// pngOf encodes a picture; opaque decides its colour type.
func pngOf(w, h int, opaque bool) []byte {
	var img image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if !opaque {
		m := image.NewNRGBA(image.Rect(0, 0, w, h))
		m.Set(0, 0, color.NRGBA{1, 2, 3, 4})
		img = m
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func bmpOf(w, h int32) []byte {
	raw := make([]byte, 54)
	copy(raw, "BM")
	binary.LittleEndian.PutUint32(raw[18:], uint32(w))
	binary.LittleEndian.PutUint32(raw[22:], uint32(h))
	return raw
}
