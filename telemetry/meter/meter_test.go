package meter

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// frames is a stream of result frames with these documents.
func frames(documents ...string) []byte {
	var b strings.Builder
	for i, d := range documents {
		fmt.Fprintf(&b, "id:%d\nevent:result\n:HTTP_STATUS/200\ndata:%s\n\n", i+1, d)
	}
	return []byte(b.String())
}

func said(content, finish string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"output":{"choices":[{"message":{"content":%s,"role":"assistant"},"finish_reason":%q}]}}`, text, finish)
}

func TestUsageOverFrames(t *testing.T) {
	for _, c := range []struct {
		story  string
		usages []string
		tokens int64
		known  bool
		odd    bool
	}{
		{"cumulative on every frame", []string{`{"input_tokens":9,"output_tokens":1}`, `{"input_tokens":9,"output_tokens":4}`}, 13, true, false},
		{"only on the last", []string{`null`, `{"input_tokens":9,"output_tokens":4,"total_tokens":13}`}, 13, true, false},
		{"only on the first", []string{`{"input_tokens":9,"output_tokens":4}`, `null`, `{}`}, 13, true, false},
		{"never", []string{`null`, `{}`}, 0, false, false},
		{"shrinking", []string{`{"output_tokens":7}`, `{"output_tokens":5}`}, 7, true, false},
		{"fields peak in different frames", []string{`{"input_tokens":9,"output_tokens":1}`, `{"input_tokens":2,"output_tokens":4}`}, 13, true,
			false},
		{"zero is known", []string{`{"total_tokens":0}`}, 0, true, false},
		{"negative", []string{`{"input_tokens":5,"output_tokens":-7}`}, 5, true, true},
		{"only negative", []string{`{"total_tokens":-1}`}, 0, false, true},
		{"2^63", []string{`{"input_tokens":5,"output_tokens":9223372036854775808}`}, 5, true, true},
		{"2^53 - 1", []string{`{"total_tokens":9007199254740991}`}, 1<<53 - 1, true, false},
		{"2^53", []string{`{"total_tokens":9007199254740992}`}, 0, false, true},
		{"beyond any float", []string{`{"total_tokens":1e999}`}, 0, false, true},
		{"a number of 10,000 digits", []string{`{"total_tokens":` + strings.Repeat("9", 10_000) + `}`}, 0, false, true},
		{"whole floats", []string{`{"input_tokens":9.0,"output_tokens":4e0}`}, 13, true, false},
		{"a fraction", []string{`{"total_tokens":1.5}`}, 0, false, true},
		{"a string", []string{`{"input_tokens":5,"output_tokens":"7"}`}, 5, true, true},
		{"a boolean", []string{`{"total_tokens":true}`}, 0, false, true},
		{"null where the interface has none", []string{`{"input_tokens":5,"output_tokens":null}`}, 5, true, true},
		{"null where the interface has it", []string{`{"input_tokens":5,"image_tokens":null}`}, 5, true, false},
		{"total below the sum", []string{`{"input_tokens":9,"output_tokens":4,"total_tokens":10}`}, 13, true, false},
		{"total above the sum", []string{`{"input_tokens":9,"output_tokens":4,"total_tokens":20}`}, 20, true, false},
		{"total alone", []string{`{"total_tokens":20}`}, 20, true, false},
		{"not an object", []string{`[{"input_tokens":5}]`, `"x"`, `7`}, 0, false, true},
		{"not JSON", []string{`{"input_tokens":5,"output_tokens":nine}`, `{"output_tokens":4}`}, 9, true, true},
		{"twice in a document", []string{`{"input_tokens":5},"usage":{"input_tokens":3,"output_tokens":1}`}, 6, true, false},
		{"twice in an object", []string{`{"input_tokens":5,"input_tokens":3}`}, 5, true, false},
	} {
		t.Run(c.story, func(t *testing.T) {
			var documents []string
			for _, u := range c.usages {
				documents = append(documents, `{"usage":`+u+`}`)
			}
			r := read("text/event-stream", frames(documents...))
			if n, known := r.Usage.Tokens(); n != c.tokens || known != c.known || r.Odd != c.odd {
				t.Errorf("tokens %d (known %t), odd %t; want %d (%t), %t", n, known, r.Odd, c.tokens, c.known, c.odd)
			}
		})
	}
}

// The line of abuse.md has 100 MiB; the Meter holds none of it and still reads the usage at its end.
func TestALineOfAnyLength(t *testing.T) {
	piece := []byte(strings.Repeat(`many words \"and\" 词 `, 3000))
	for _, contentType := range []string{"text/event-stream", "application/json"} {
		m := New(contentType, "")
		if contentType == "text/event-stream" {
			_, _ = m.Write([]byte("data:"))
		}
		_, _ = m.Write([]byte(`{"output":{"text":"`))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		total := 0
		for total < 100<<20 {
			n, err := m.Write(piece)
			if n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
			total += n
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
			t.Errorf("%s: %d bytes allocated", contentType, grown)
		}
		_, _ = m.Write([]byte(`","finish_reason":"stop"},"usage":{"total_tokens":77}}`))
		r := m.End()
		if n, _ := r.Usage.Tokens(); n != 77 || !r.Complete || r.GaveUp || r.TextBytes != total-total/len(piece)*2*3000 {
			t.Errorf("%s: %+v", contentType, r)
		}
	}
}

func TestDocumentsOfAnyDepth(t *testing.T) {
	deep := strings.Repeat(`[{"usage":`, 200_000)
	for _, body := range []string{
		`{"other":` + deep, `{"usage":{"a":` + deep, `{"usage":` + strings.Repeat(`{"a":`, 200_000) + `1`,
		`{"output":{"choices":[{"message":{"tool_calls":[` + deep,
	} {
		m := New("", "")
		if n := testing.AllocsPerRun(1, func() { _, _ = m.Write([]byte(body)) }); n > 4 {
			t.Errorf("%.40s…: %v allocations", body, n)
		}
		if r := m.End(); r.Complete || r.Usage.Known() {
			t.Errorf("%.40s…: %+v", body, r)
		}
	}
}

func TestRepeatedTextIsNotSummed(t *testing.T) {
	for _, c := range []struct {
		story string
		texts []string
		want  int
	}{
		{"repeated", []string{"a", "ab", "abc", "abc"}, 3},
		{"repeated, an empty frame last", []string{"a", "ab", ""}, 2},
		{"new only", []string{"a", "b", "c", ""}, 3},
		{"new only, alike at first", []string{"ha", "ha", "!"}, 5},
		{"repeated, beyond ASCII", []string{"词", "词语", "词语\n\"x\""}, 10},
		{"one frame", []string{"abc"}, 3},
		{"none", []string{"", ""}, 0},
	} {
		t.Run(c.story, func(t *testing.T) {
			var documents []string
			for _, text := range c.texts {
				documents = append(documents, said(text, "null"))
			}
			if r := read("text/event-stream", frames(documents...)); r.TextBytes != c.want || r.Content != (c.want > 0) {
				t.Errorf("%d bytes, content %t; want %d", r.TextBytes, r.Content, c.want)
			}
		})
	}
}

func TestTextIsMeasuredWhetherRepeatedOrNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringN(1, 20, -1), 2, 20).Draw(t, "parts")
		all := strings.Join(parts, "")
		if slices.IndexFunc(parts[1:], func(s string) bool { return !strings.HasPrefix(s, parts[0]) }) < 0 {
			t.Skip("cannot be distinguished from repeated text")
		}
		var news, repeats []string
		for i := range parts {
			news = append(news, said(parts[i], "null"))
			repeats = append(repeats, said(strings.Join(parts[:i+1], ""), "null"))
		}
		if n := read("text/event-stream", frames(repeats...)).TextBytes; n != len(all) {
			t.Errorf("repeated: %d bytes, want %d", n, len(all))
		}
		if n := read("text/event-stream", frames(news...)).TextBytes; n != len(all) {
			t.Errorf("new only: %d bytes, want %d", n, len(all))
		}
	})
}

func TestCompressedIsOpaque(t *testing.T) {
	for encoding, want := range map[string]bool{
		"": false, "identity": false, " Identity ": false, "gzip": true, "br": true, "identity, gzip": true, "unknown": true,
	} {
		m := New("application/json", encoding)
		_, _ = m.Write([]byte(`{"usage":{"input_tokens":1}}`))
		if r := m.End(); r.Opaque != want || r.Usage.Known() == want || r.Complete == want {
			t.Errorf("%q: %+v", encoding, r)
		}
	}
	if r := read("application/json", []byte("\x1f\x8b\x08\x00\x00")); !r.Opaque {
		t.Error("compressed without a header is not opaque")
	}
}

func TestTheAnswersTypeDecides(t *testing.T) {
	body := `{"usage":{"input_tokens":1}}`
	for contentType, stream := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream ; charset=UTF-8": true, "application/json": false,
		"application/json;charset=utf-8": false, "": false, "text/plain": false, "text/event-streams": false,
	} {
		if r := read(contentType, []byte("data:"+body+"\n\n")); (r.Frames == 1) != stream || r.Opaque == stream {
			t.Errorf("%q as a stream: %+v", contentType, r)
		}
		if r := read(contentType, []byte(body)); r.Usage.Known() == stream {
			t.Errorf("%q as a document: %+v", contentType, r)
		}
	}
}
