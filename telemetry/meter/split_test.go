package meter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var byUnexported = cmp.AllowUnexported(Usage{}, other{})

// same compares two Readings of one body. It is cheap if they are equal, as they nearly always are.
func same(t testing.TB, what string, want, got Reading) {
	t.Helper()
	if diff := cmp.Diff(want, got, byUnexported); diff != "" {
		t.Fatalf("%s: %s", what, diff)
	}
}

func eachByte(body []byte) [][]byte {
	pieces := make([][]byte, len(body))
	for i := range body {
		pieces[i] = body[i : i+1]
	}
	return pieces
}

func TestCutAtEveryByte(t *testing.T) {
	for name, body := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			want := read(contentType(name), body)
			for i := range body {
				same(t, "cut", want, read(contentType(name), body[:i], body[i:]))
			}
			same(t, "every byte alone", want, read(contentType(name), eachByte(body)...))
		})
	}
}

func TestCutAnywhere(t *testing.T) {
	answers := recorded(t)
	names := make([]string, 0, len(answers))
	for name := range answers {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		body := answers[name]
		var pieces [][]byte
		for rest := body; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "length")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
			if len(pieces) > 50 {
				pieces = append(pieces, rest)
				break
			}
		}
		want := read(contentType(name), body)
		if diff := cmp.Diff(want, read(contentType(name), pieces...), byUnexported); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The other forms that the standard allows must make no difference either.
func TestFormsOfOneStream(t *testing.T) {
	answers := recorded(t)
	plain := answers["no-final-line.sse"]
	plain = append(bytes.Clone(plain), '\n')
	want := read("text/event-stream", plain)
	if !want.Complete || want.Frames != 2 {
		t.Fatalf("the plain stream reads as %+v", want)
	}
	for _, name := range []string{"crlf.sse", "cr.sse", "mark.sse", "spaced.sse", "no-final-line.sse", "no-final-line-end.sse"} {
		same(t, name, want, read("text/event-stream", answers[name]))
	}
}

// Bytes that begin like a mark and turn out to be something else are part of the body.
func TestHalfAByteOrderMark(t *testing.T) {
	for _, body := range []string{"\xef\xbb", "\xef\xbbdata:{}\n\n", "\xef{}", "\xef\xbb\xbf\xef\xbb\xbf{}"} {
		for _, contentType := range []string{"text/event-stream", "application/json"} {
			want := read(contentType, []byte(body))
			if want.Complete {
				t.Errorf("%q as %s is complete", body, contentType)
			}
			same(t, body, want, read(contentType, eachByte([]byte(body))...))
		}
	}
}

// A client that leaves at any byte leaves a Reading to which the rest of the body could only have added.
func TestReadingsOnlyGrow(t *testing.T) {
	for name, body := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			m := New(contentType(name), "")
			for i := range body {
				before := m.End()
				_, _ = m.Write(body[i : i+1])
				after := m.End()
				same(t, "asking twice", after, m.End())
				for f := range fieldCount {
					was, had := before.Usage.Get(f)
					if is, has := after.Usage.Get(f); had && !has || is < was {
						t.Fatalf("byte %d: %s falls from %d to %d", i, f, was, is)
					}
				}
				if after.Frames < before.Frames || before.Content && !after.Content && !after.Opaque {
					t.Fatalf("byte %d: %+v becomes %+v", i, before, after)
				}
			}
			same(t, "with questions in between", read(contentType(name), body), m.End())
		})
	}
}

// A stream is complete only with its last frame; a few bytes after it may be missing.
func TestStreamsAreIncompleteUntilTheirEnd(t *testing.T) {
	for _, name := range []string{
		"text-incremental.sse", "message-cumulative.sse", "tool-calls.sse", "thinking.sse", "interleaved.sse",
		"error-midstream.sse", "two-choices.sse",
	} {
		body := recorded(t)[name]
		for i := range len(body) - 2 {
			if read("text/event-stream", body[:i]).Complete {
				t.Errorf("%s is complete after %d of %d bytes", name, i, len(body))
				break
			}
		}
	}
}

// A stream whose frames keep changing their shape reads the same in one piece, line by line and byte by byte.
func TestFramesOfAnyShape(t *testing.T) {
	parts := []string{
		`"output":{"text":"ab","finish_reason":"null"}`, `"output":{"text":"abc","finish_reason":null}`,
		`"output":{"choices":[{"message":{"content":"x","reasoning_content":""},"finish_reason":"null"}]}`,
		`"output":{"choices":[{"message":{"content":"xy"},"finish_reason":"stop"}]}`,
		`"output":{"choices":[{"index":1,"message":{"content":[{"text":"y"},{"image":"https://r/1"}]}}]}`,
		`"output":{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]}},{"finish_reason":"length"}]}`,
		`"output":{"task_id":"a","task_status":"RUNNING"}`, `"output":{"task_id":"b","task_status":"SUCCEEDED","finished":true}`,
		`"request_id":"1"`, `"request_id":"2"`, `"code":"Bad","message":"no","status_code":400`, `"code":""`,
		`"usage":{"input_tokens":5,"output_tokens":7}`, `"usage":{"input_tokens":5,"output_tokens":17}`,
		`"usage":{"input_tokens":null,"output_tokens":-3,"other":1}`, `"usage":{"a":{"b":1,"c":{}},"b":[1],"total_tokens":{}}`,
		`"usage":{"prompt_tokens_details":{"cached_tokens":3},"input_tokens":"4"}`, `"usage":null`, `"x":[{"usage":1}]`, `"x":7`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var kinds []string
		for range rapid.IntRange(1, 4).Draw(t, "kinds") {
			kinds = append(kinds, strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 4).Draw(t, "parts"), ","))
		}
		var documents []string
		for _, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 12).Draw(t, "frames") {
			documents = append(documents, "{"+kind+"}")
		}
		body := frames(documents...)
		want := read("text/event-stream", eachByte(body)...)
		if diff := cmp.Diff(want, read("text/event-stream", body), byUnexported); diff != "" {
			t.Error(diff)
		}
		lines := slices.Collect(strings.Lines(string(body)))
		var pieces [][]byte
		for _, line := range lines {
			pieces = append(pieces, []byte(line))
		}
		if diff := cmp.Diff(want, read("text/event-stream", pieces...), byUnexported); diff != "" {
			t.Error(diff)
		}
	})
}

// Frames that repeat long or many values read the same in one piece and byte by byte.
func TestLongAndVariedFrames(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 1024) + `","usage":{"input_tokens":1}}`
	var members []string
	for i := range 16 {
		members = append(members, fmt.Sprintf(`"u%d":%d`, i, i))
	}
	varied := `{"usage":{` + strings.Join(members, ",") + `}}`
	for _, document := range []string{long, varied, `{"output":{"text":"` + strings.Repeat("z", 1024) + `"}}`} {
		body := frames(document, document, document, document)
		same(t, document[:20], read("text/event-stream", eachByte(body)...), read("text/event-stream", body))
	}
}

// FuzzSSEUsage checks that the places where a body is cut do not change its Reading, and that the Reading is sane.
func FuzzSSEUsage(f *testing.F) {
	for name, body := range recorded(f) {
		f.Add(body, uint16(len(body)/2), uint16(1), contentType(name) != "application/json")
	}
	f.Fuzz(func(t *testing.T, body []byte, first, second uint16, stream bool) {
		contentType := "application/json"
		if stream {
			contentType = "text/event-stream"
		}
		want := read(contentType, body)
		a := min(int(first), len(body))
		b := min(a+int(second), len(body))
		same(t, "three pieces", want, read(contentType, body[:a], body[a:b], body[b:]))
		same(t, "every byte alone", want, read(contentType, eachByte(body)...))
		sane(t, want, len(body))
		again := bytes.Repeat(body, 3) // frames seen before may be read by another path
		same(t, "again", read(contentType, again), read(contentType, eachByte(again)...))
	})
}

func sane(t *testing.T, r Reading, length int) {
	t.Helper()
	for name, n := range r.Usage.All() {
		if n < 0 || n > maxNumber || len(name) > maxPath {
			t.Errorf("%q is %v", name, n)
		}
	}
	if r.TextBytes < 0 || r.TextBytes > length || r.TextBytes > 0 && !r.Content {
		t.Errorf("%d bytes of text in a body of %d, content %t", r.TextBytes, length, r.Content)
	}
	if r.Opaque && (r.Complete || r.Usage.Known()) {
		t.Errorf("opaque, yet %+v", r)
	}
	if len(r.ErrorMessage) > maxToken || len(r.FinishReasons) > proseSlots {
		t.Errorf("%+v", r)
	}
}
