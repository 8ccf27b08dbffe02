package upstream

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// The key is covered in a stream whatever the pieces and the frames, and everything else is unchanged.
func TestTheKeyIsCoveredAcrossPieces(t *testing.T) {
	const key = "sk-abcdef"
	c := secretsOf(t, key)
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "frames") {
			text.WriteString("data:")
			want.WriteString("data:")
			for range rapid.IntRange(0, 60).Draw(t, "parts") {
				part := rapid.SampledFrom([]string{"水", "s", "sk-", `\`, `\\`, "abc", "\xff", key, `\u0073\u006B-abcdef`, `sk\u002dabcdef`}).
					Draw(t, "part")
				if strings.HasSuffix(part, "abcdef") {
					part = "|" + part
				}
				text.WriteString(part)
				if strings.HasPrefix(part, "|") {
					part = "|" + strings.Repeat("*", len(part)-1)
				}
				want.WriteString(part)
			}
			text.WriteString("\n\n")
			want.WriteString("\n\n")
		}
		var source io.Reader = &pieces{t: t, rest: []byte(text.String())}
		if rapid.Bool().Draw(t, "EOF with the last bytes") {
			source = iotest.DataErrReader(source)
		}
		f := NewStream(io.NopCloser(source), c, nil)
		var got []byte
		for {
			buffer := make([]byte, rapid.SampledFrom([]int{400, 500, 4096}).Draw(t, "buffer"))
			n, err := f.Read(buffer)
			got = append(got, buffer[:n]...)
			if err == io.EOF {
				break
			}
			if n == 0 && err == nil {
				t.Fatal("nothing is read")
			}
		}
		if string(got) != want.String() {
			t.Fatalf("%q\nbecame %q\nwant   %q", text.String(), got, want.String())
		}
	})
}

// A reader whose buffer becomes smaller than the waiting bytes gets them in pieces, none of which ends inside the key.
func TestTheKeyIsCoveredInPiecesOfWhatWaited(t *testing.T) {
	c := secretsOf(t, "sk-abcdef")
	for size := len(`\u0073k-abcdef`); size < 60; size++ {
		f := NewStream(io.NopCloser(strings.NewReader("data:a\n\ndata:"+strings.Repeat("x", 30)+`sk-abcdef, \u0073k-abcdef`+
			strings.Repeat("y", 30))), c, nil)
		n, err := f.Read(make([]byte, 4096))
		rest, _ := io.ReadAll(&small{f, size})
		want := "data:" + strings.Repeat("x", 30) + "*********, " + strings.Repeat("*", 14) + strings.Repeat("y", 30)
		if n != len("data:a\n\n") || err != nil || string(rest) != want {
			t.Errorf("in pieces of %d: %d %v, then %q", size, n, err, rest)
		}
	}
}

// small reads with a small buffer.
type small struct {
	from io.Reader
	size int
}

func (s *small) Read(p []byte) (int, error) { return s.from.Read(p[:min(len(p), s.size)]) }

// The address is covered in an error that is longer than a piece, to its end, and only in the error.
func TestTheAddressInALongError(t *testing.T) {
	cover := covering(secretsOf(t, "sk-abcdef"))
	var got string
	for _, piece := range []string{
		"data:service.example\n\n", "id:1\ndata:service.example\nevent: error\ndata:", "service.example", "and service.example\n\n",
		"data:service.example\n\n",
	} {
		whole := []byte(piece)
		cover(whole)
		got += string(whole)
	}
	stars := strings.Repeat("*", len("service.example"))
	if want := "data:service.example\n\nid:1\ndata:" + stars + "\nevent: error\ndata:" + stars + "and " + stars +
		"\n\ndata:service.example\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// covering is the part of watching a stream that covers.
func covering(c *Secrets) func([]byte) {
	cover := streamCover{secrets: c}
	return cover.cover
}

func BenchmarkCoverFrame(b *testing.B) {
	frame := []byte("id:7\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\" " +
		"river\",\"role\":\"assistant\"},\"finish_reason\":\"null\"}]},\"usage\":{\"input_tokens\":20,\"output_tokens\":7,\"total_tokens\":27},\"request_id\":\"7f3c\"}\n\n")
	cover := covering(secretsOf(b, "sk-0123456789abcdef0123456789abcdef"))
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		cover(frame)
	}
}

func TestErrorFrame(t *testing.T) {
	for _, tt := range []struct {
		piece string
		want  int
	}{
		{"event:error\ndata:{}\n\n", 0},
		{"id:1\nevent: error\n\n", 0},
		{"id:1\r\nevent:error\r\n\r\n", 0},
		{"data:{}\n\nid:1\ndata:{}\nevent:  error\n\n", 9},
		{"data:{}\r\rdata:{}\rEvent:\terror\r\r", 9},
		{"data:error\n\nEVENT:error", 12},
		{"id:1\nevent:result\nxevent:error\n\n", -1},
		{"event:" + strings.Repeat(" ", 100) + "Error\n\n", 0},
		{"data:{}\n\nevent:error\n\ndata:{}\r\r", 9},
		{"event:error\r\revent:error\n\n", 0},
		{"id:1\r\revent:error\r\rid:1\n\nevent:error\n\n", 6},
		{"event" + strings.Repeat(" error", 100) + "\n\n", -1},
		{"id:1\nevent:result\ndata:{\"error\":\"event:error\"}\n\n", -1},
		{"data:error event:error\n\n", -1},
		{"", -1},
	} {
		if got := errorFrame([]byte(tt.piece)); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.piece, got, tt.want)
		}
	}
}
