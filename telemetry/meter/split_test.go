package meter

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var byUnexported = cmp.AllowUnexported(Usage{}, other{})

// same compares two Readings of one body. It is cheap when they are equal, which is all but always.
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

func TestA119_CutAtEveryByte(t *testing.T) {
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

func TestA119_CutAnywhere(t *testing.T) {
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

// The forms that the standard allows must not make a difference either.
func TestA119_FormsOfOneStream(t *testing.T) {
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

// Bytes of a mark that turn out to be something else are part of the body.
func TestA119_HalfAMark(t *testing.T) {
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

// A client that leaves at any byte leaves a Reading that the rest of the body could only have added to.
func TestA124_CutOffAtEveryByte(t *testing.T) {
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

// Only the last frame, or what little may be missing after it, makes a stream complete.
func TestA124_IncompleteUntilItsEnd(t *testing.T) {
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
