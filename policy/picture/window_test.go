package picture

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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
