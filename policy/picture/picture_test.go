package picture

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/jpeg" // oracles
	_ "image/png"
	"strings"
	"testing"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/webp"
	"pgregory.net/rapid"
)

// headerOf reads an image's header through its base64, once plain and once with escapes that a JSON writer may use.
func headerOf(t *testing.T, data []byte) Header {
	t.Helper()
	raw := []byte("data:image/x;base64," + base64.StdEncoding.EncodeToString(data))
	u, ok := ParseDataURI(raw, false, 0)
	if !ok || u.Size != len(data) || !u.Padded {
		t.Fatalf("a data URI of %d bytes: %v, %+v", len(data), ok, u)
	}
	w := openWindow(u)
	h := readHeader(w)
	if w.budget < 0 {
		t.Errorf("looked at %d bytes too many", -w.budget)
	}
	escaped := []byte(strings.NewReplacer("/", `\/`, "A", `\u0041`).Replace(string(raw)))
	u, ok = ParseDataURI(escaped, true, 0)
	if !ok {
		t.Fatal("the escaped data URI is refused")
	}
	if q := readHeader(openWindow(u)); q != h {
		t.Errorf("escaped %+v, plain %+v", q, h)
	}
	return h
}

// fuzzHeader is the fuzz target of one format: no panic, and the sides of the standard decoder whenever both find some.
func fuzzHeader(f *testing.F, format string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
		f.Add([]byte(seed[:len(seed)*2/3]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		h := headerOf(t, data)
		config, decoded, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || h.Broken != "" || h.Format == "" {
			return
		}
		if decoded != h.Format {
			t.Errorf("format %s, the decoder says %s", h.Format, decoded)
		}
		if config.Width != h.Width || config.Height != h.Height {
			t.Errorf("%s: %d*%d, the decoder says %d*%d", format, h.Width, h.Height, config.Width, config.Height)
		}
	})
}

// Headers of real files, as their writers made them.
const (
	realPNG = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00\x00\x00\x01\x00\x08\x03\x00\x00\x00\x6b\xac\x58\x54" +
		"\x00\x00\x00\x03PLTE\x00\x00\x00\xa7\x7a\x3d\xda\x00\x00\x00\x01tRNS\x00\x40\xe6\xd8\x66\x00\x00\x00\x08IDAT\x08\x1d\x63\x60\x00\x00\x00\x01"
	realJPEG = "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00\x05\x00\x01\x01" +
		"\xff\xc0\x00\x11\x08\x01\x00\x02\x00\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01\xff\xda\x00\x0c\x03"
	realBMP = "BM\x36\x00\x03\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\xf0\x00\x00\x00\xf0\x00\x00\x00\x01\x00\x18\x00" +
		"\x00\x00\x00\x00\x00\x00\x03\x00\x13\x0b\x00\x00\x13\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff"
	realVP8  = "RIFF\x1c\x00\x00\x00WEBPVP8 \x10\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x20\x03\x58\x02\x00\x34\x25\xa4\x00\x03"
	realVP8L = "RIFF\x12\x00\x00\x00WEBPVP8L\x05\x00\x00\x00\x2f\xff\xc0\x3f\x00\x00"
	realVP8X = "RIFF\x30\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x1f\x03\x00\x57\x02\x00" +
		"VP8 \x0a\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x20\x03\x58\x02\x00\x00"
)

func FuzzPNG(f *testing.F) { fuzzHeader(f, "png", realPNG) }

func FuzzJPEG(f *testing.F) { fuzzHeader(f, "jpeg", realJPEG) }

func FuzzBMP(f *testing.F) { fuzzHeader(f, "bmp", realBMP) }

func FuzzWebP(f *testing.F) { fuzzHeader(f, "webp", realVP8, realVP8L, realVP8X) }

// windowOn opens a window on data, spelled with escapes or without.
func windowOn(t testing.TB, data []byte, escapes bool) *window {
	t.Helper()
	s := "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
	if escapes {
		s = strings.NewReplacer("/", `\/`, "+", `\u002b`, "A", `\u0041`).Replace(s)
	}
	u, ok := ParseDataURI([]byte(s), escapes, 0)
	if !ok {
		t.Fatalf("%q is no data URI", s)
	}
	return openWindow(u)
}

// TestWindowShowsTheBytes looks at an image in steps of any size: the window shows the image's bytes.
func TestWindowShowsTheBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(r, "data")
		w := windowOn(t, data, rapid.Bool().Draw(r, "escapes"))
		for at := 0; at < len(data); {
			n := rapid.IntRange(1, maxLook).Draw(r, "n")
			got := w.look(at, n)
			switch {
			case at+n > len(data):
				if got != nil {
					r.Fatalf("%d bytes at %d of %d are shown", n, at, len(data))
				}
			case !bytes.Equal(got, data[at:at+n]):
				r.Fatalf("at %d: %x, want %x", at, got, data[at:at+n])
			}
			at += rapid.IntRange(0, 300).Draw(r, "step")
		}
	})
}

// TestWindowBudget shows nothing more once the budget is used up.
func TestWindowBudget(t *testing.T) {
	w := windowOn(t, make([]byte, 3*lookBudget), false)
	looks := 0
	for at := 0; w.look(at, 8) != nil; at += 8 {
		looks++
	}
	if looks != lookBudget/8 {
		t.Errorf("%d looks of 8 bytes", looks)
	}
}

// TestWindowEnds looks at the ends of images of every length modulo three, which end in padding.
func TestWindowEnds(t *testing.T) {
	for size := 1; size < 12; size++ {
		data := []byte("0123456789ab")[:size]
		for _, escapes := range []bool{false, true} {
			w := windowOn(t, data, escapes)
			if w.size != size || !bytes.Equal(w.look(0, size), data) || w.look(0, size+1) != nil || w.look(size, 1) != nil {
				t.Errorf("%d bytes, escapes %v: size %d", size, escapes, w.size)
			}
			if w.look(1<<40, 8) != nil {
				t.Error("bytes far behind the end are shown")
			}
		}
	}
}
