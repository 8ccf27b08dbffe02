package upstream

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A stream's bytes are the same whatever the pieces in which they arrive, and the written pieces end where events end, or between
// characters if an event is larger than the buffer.
func TestStreamKeepEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := draw(t)
		size := rapid.SampledFrom([]int{16, 64, 4096}).Draw(t, "buffer")
		var source io.Reader = &pieces{t: t, rest: text}
		if rapid.Bool().Draw(t, "EOF with the last bytes") {
			source = iotest.DataErrReader(source)
		}
		f := NewStream(io.NopCloser(source), new(Secrets), nil)
		var got []byte
		buf := make([]byte, size)
		for {
			n, err := f.Read(buf)
			got = append(got, buf[:n]...)
			piece := buf[:n]
			if len(got) < len(text) && n > 0 && lastBorder(piece) != n && n < size-utf8.UTFMax {
				t.Fatalf("a piece ends inside an event: %q", piece)
			}
			if len(got) < len(text) && n > 0 && utf8.Valid(text) && lastRune(piece) != n {
				t.Fatalf("a piece ends inside a character: %q", piece)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, text) {
			t.Fatalf("got %q, want %q", got, text)
		}
	})
}

func draw(t *rapid.T) []byte {
	end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
	var b strings.Builder
	for range rapid.IntRange(0, 8).Draw(t, "events") {
		data := rapid.StringOfN(rapid.RuneFrom([]rune("ab水é🌊:")), 0, 60, -1).Draw(t, "data")
		b.WriteString("id:1" + end + "data:" + data + end + end)
	}
	if rapid.Bool().Draw(t, "broken off") {
		b.WriteString("data:水")
	}
	return []byte(b.String())
}

// pieces returns a text in pieces of any size.
type pieces struct {
	t    *rapid.T
	rest []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:rapid.IntRange(1, len(b)).Draw(p.t, "piece")], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func TestStreamPassTheErrorBehindTheBytes(t *testing.T) {
	broken := errors.New("broken")
	f := NewStream(io.NopCloser(io.MultiReader(strings.NewReader("data:a\n\ndata:b"), iotest.ErrReader(broken))), new(Secrets), nil)
	got, err := io.ReadAll(f)
	if string(got) != "data:a\n\ndata:b" || !errors.Is(err, broken) {
		t.Errorf("%q %v", got, err)
	}
}

// An event that is larger than the reader's buffer is read whole before a byte of it leaves, and its last bytes do not wait for
// the next event.
func TestStreamReadsALongEventWhole(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		for more := range 20 {
			event := "data:" + strings.Repeat("x", 100+more) + end
			var watched []string
			from, to := io.Pipe()
			go func() { _, _ = io.WriteString(to, event) }() // and nothing more
			f := NewStream(from, new(Secrets), func(piece []byte) { watched = append(watched, string(piece)) })
			got, parts := "", make([]byte, 16)
			for len(got) < len(event) {
				n, err := f.Read(parts)
				if err != nil {
					t.Fatal(err)
				}
				got += string(parts[:n])
			}
			if got != event || len(watched) != 1 || watched[0] != event || f.lent != nil {
				t.Errorf("got %q, watched %q, lent %t", got, watched, f.lent != nil)
			}
			_, _ = f.Close(), to.Close()
		}
	}
}

// A reader with a tiny buffer gets the whole stream.
func TestStreamIntoATinyBuffer(t *testing.T) {
	const text = "data:long enough\n\ndata:é\n\n"
	for size := 1; size <= 4; size++ {
		f := NewStream(io.NopCloser(strings.NewReader(text)), new(Secrets), nil)
		var got []byte
		buf := make([]byte, size)
		for reads := 0; reads < 10*len(text); reads++ {
			n, err := f.Read(buf)
			if got = append(got, buf[:n]...); err == io.EOF {
				break
			}
		}
		if string(got) != text {
			t.Errorf("a buffer of %d bytes got %q", size, got)
		}
	}
}
