package picture

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"sluice/policy/strictjson"
)

var dataForm = regexp.MustCompile(`^(?i:data):([A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+);(?i:base64),([A-Za-z0-9+/]+)(={0,2})$`)

// FuzzDataURI compares the parser with a regular expression and the standard decoder, for several spellings of the
// string in JSON, and with and without known base64.
func FuzzDataURI(f *testing.F) {
	for _, s := range []string{
		"data:image/png;base64,iVBORw0KGgo=", "data:image/jpeg;base64,/9j/4AAQSkZJRg==", "DATA:IMAGE/PNG;BASE64,AAAA",
		"data:;base64,AAAA", "data:image/png;charset=x;base64,AAAA", "data:image/png;base64,AA\nAA", "data:image/png;base64,AAA",
		"data:image/png;base64,A===", "data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-AAA", "http://a/b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		want := dataForm.FindStringSubmatch(s)
		legal := want != nil && len(want[1]) <= maxMedia && base64Form(want[2], want[3])
		plain, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, spelling := range []string{string(plain), strings.NewReplacer("/", `\/`, "+", `\u002B`).Replace(string(plain))} {
			r := strictjson.NewReader([]byte(spelling))
			known := Base64Ahead([]byte(spelling)[1:])
			str := r.TextAfter(known)
			if !r.End() {
				t.Fatalf("%s: %v, %+v", spelling, r.Err(), str)
			}
			u, ok := ParseDataURI(str.Raw, str.Escaped, known)
			again, okAgain := ParseDataURI(str.Raw, str.Escaped, 0)
			if ok != legal || ok != okAgain || ok && (u.Size != again.Size || u.Padded != again.Padded) {
				t.Fatalf("%s: taken %v, without knowledge %v, want %v", spelling, ok, okAgain, legal)
			}
			if !ok {
				continue
			}
			decoded, err := base64.RawStdEncoding.DecodeString(want[2])
			if err != nil || u.Size != len(decoded) || u.Media != strings.ToLower(want[1]) {
				t.Fatalf("%s: %d bytes of %s, want %d of %s, %v", spelling, u.Size, u.Media, len(decoded), want[1], err)
			}
		}
	})
}

// base64Form reports whether the padding may follow the symbols: it is complete or absent.
func base64Form(symbols, pads string) bool {
	return len(symbols)%4 != 1 && (pads == "" || (len(symbols)+len(pads))%4 == 0)
}

// FuzzBase64Run compares base64Run with a loop over single bytes, for short runs and after enough symbols that vectors are used.
func FuzzBase64Run(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 40) + "\"\x00\x1f\x20\x7f\x80\xff\\"))
	f.Add([]byte("@AZ[`az{/09:+,*"))
	f.Fuzz(func(t *testing.T, src []byte) {
		run := 0
		for run < len(src) && strings.IndexByte(base64Symbols, src[run]) >= 0 {
			run++
		}
		if got := base64Run(src); got != run {
			t.Errorf("base64Run %q: %d, want %d", src, got, run)
		}
		before := longRun + len(src)%blockSymbols
		if got := base64Run(append([]byte(strings.Repeat("Q", before)), src...)); got != before+run {
			t.Errorf("base64Run %q after %d symbols: %d, want %d", src, before, got, before+run)
		}
	})
}

// TestBase64RunEndsAtEachByte: every byte that is not a symbol ends a long run, wherever it is in a block, including line ends
// and padding, which the decoder accepts.
func TestBase64RunEndsAtEachByte(t *testing.T) {
	if !vectors {
		t.Log("this processor has no vectors for it")
	}
	src := []byte(strings.Repeat(base64Symbols, 2*longRun/len(base64Symbols)))
	for _, at := range []int{0, 1, blockSymbols - 1, blockSymbols, blockSymbols + 1, blockSymbols + 44, blockSymbols + 45, 2*blockSymbols - 2,
		2*blockSymbols - 1, longRun + 31, longRun + 32, 2*longRun - 1} {
		was := src[at]
		for b := range 256 {
			want := len(src)
			if strings.IndexByte(base64Symbols, byte(b)) < 0 {
				want = at
			}
			if src[at] = byte(b); base64Run(src) != want {
				t.Errorf("%q at %d: a run of %d, want %d", rune(b), at, base64Run(src), want)
			}
		}
		src[at] = was
	}
	for _, ending := range []string{"==", "=", "\r\n", "\n\n\n\n", "=\n", "Q===", "===="} { // whole blocks that the decoder accepts
		copy(src[2*blockSymbols-len(ending):], ending)
		want := 2*blockSymbols - len(strings.TrimLeft(ending, base64Symbols))
		if got := base64Run(src); got != want {
			t.Errorf("%q at a block's end: a run of %d, want %d", ending, got, want)
		}
		copy(src, strings.Repeat(base64Symbols, 2*blockSymbols/len(base64Symbols)))
	}
}

// TestBase64RunOfEscapes: some writers escape each slash, so a large image has hundreds of thousands of short runs. Those need no
// scratch memory.
func TestBase64RunOfEscapes(t *testing.T) {
	src := []byte(strings.Repeat(base64Symbols[:63]+`\/`, 2*longRun/len(base64Symbols)))
	if n := testing.AllocsPerRun(10, func() { _ = base64Run(src) }); n > 0 {
		t.Errorf("%v allocations for a run of %d", n, base64Run(src))
	}
}

// BenchmarkBase64Run compares the vectors with eight bytes at a time, for an image of 13 MB.
func BenchmarkBase64Run(b *testing.B) {
	src := []byte(strings.Repeat(base64Symbols, 13<<20/len(base64Symbols)))
	for name, count := range map[string]func([]byte) int{"vectors": base64Run, "words": base64Words} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if count(src) != len(src) {
					b.Fatal("the run ended early")
				}
			}
		})
	}
}
