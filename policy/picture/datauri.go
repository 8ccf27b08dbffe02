package picture

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/segmentio/asm/base64"
	"github.com/segmentio/asm/cpu"
	"github.com/segmentio/asm/cpu/x86"

	"sluice/policy/strictjson"
)

// DataURI is an image inside the body: data:{mime_type};base64,{data}.
type DataURI struct {
	Media  string // the media type in lower case
	Size   int    // bytes of the decoded data, computed from the number of symbols
	Padded bool   // the = padding of RFC 4648 at the end is present

	data strictjson.Cursor // before the first base64 symbol
}

// maxMedia bounds the media type of a data URI; the longest that means anything here is a quarter of it.
const maxMedia = 64

// IsDataURI reports whether a string of the document begins with data:, in any case. raw and escaped are what
// [strictjson.NewCursor] takes.
func IsDataURI(raw []byte, escaped bool) bool {
	c := strictjson.NewCursor(raw, escaped)
	return skipWord(&c, "data:")
}

// Base64Ahead returns how many bytes of src are the head of a data URI and the base64 after it; 0 if src is another
// string. src starts after the string's opening quote. The scanner need not look at these bytes again, which are nearly
// all of a large body.
func Base64Ahead(src []byte) (end int) {
	const mark = ";base64,"
	head := src[:min(len(src), len("data:")+maxMedia+len(mark))]
	at := bytes.Index(head, []byte(mark))
	strange := func(c rune) bool { return c >= utf8.RuneSelf || c != ':' && c != '/' && !isMediaByte(byte(c)) }
	if at < 0 || bytes.ContainsFunc(head[:at], strange) {
		return 0
	}
	first := at + len(mark)
	return first + base64Run(src[first:])
}

// ParseDataURI reads a data URI of the form that interface.md gives: one media type, no parameters, then base64 in the
// standard alphabet without white space. The standard library cannot be used: its decoder skips line ends, and its
// parser of media types accepts parameters.
//
// known is the result of [Base64Ahead] for the string, or 0.
func ParseDataURI(raw []byte, escaped bool, known int) (u DataURI, ok bool) {
	c := strictjson.NewCursor(raw, escaped)
	if !skipWord(&c, "data:") {
		return u, false
	}
	var media strings.Builder
	slashes := 0
	for {
		b, more := c.Next()
		if !more {
			return u, false
		}
		if b == ';' {
			break
		}
		if media.Len() == maxMedia {
			return u, false
		}
		if b == '/' {
			slashes++
		} else if !isMediaByte(b) {
			return u, false
		}
		media.WriteByte(lower(b))
	}
	u.Media = media.String()
	if slashes != 1 || u.Media[0] == '/' || u.Media[len(u.Media)-1] == '/' || !skipWord(&c, "base64,") {
		return u, false
	}
	u.data = c
	run := max(known-c.Offset(), 0)
	c.Seek(c.Offset() + run)
	symbols, pads := skipBase64(&c)
	symbols += run
	u.Size = symbols * 3 / 4
	u.Padded = (symbols+pads)%4 == 0
	return u, len(c.Rest()) == 0 && symbols > 0 && symbols%4 != 1 && pads <= 2 && (u.Padded || pads == 0)
}

// isMediaByte reports whether a media type may hold b, apart from its slash: the characters of RFC 6838's names.
func isMediaByte(b byte) bool {
	l := lower(b)
	return l >= 'a' && l <= 'z' || b >= '0' && b <= '9' || strings.IndexByte("!#$&-^_.+", b) >= 0
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// skipWord consumes word in any case and reports whether it was there. word is in lower case.
func skipWord(c *strictjson.Cursor, word string) bool {
	for i := 0; i < len(word); i++ {
		if b, ok := c.Next(); !ok || lower(b) != word[i] {
			return false
		}
	}
	return true
}

// skipBase64 consumes symbols and the padding after them, and counts both.
func skipBase64(c *strictjson.Cursor) (symbols, pads int) {
	for len(c.Rest()) > 0 {
		n := base64Run(c.Rest())
		c.Seek(c.Offset() + n)
		symbols += n
		before := c.Offset()
		switch b, ok := c.Next(); {
		case ok && base64Value[b] < 64: // written as an escape: some writers escape the slash, some the plus
			symbols++
		case ok && b == '=':
			for pads = 1; ; pads++ {
				before = c.Offset()
				if b, ok := c.Next(); !ok || b != '=' {
					c.Seek(before)
					return symbols, pads
				}
			}
		default:
			c.Seek(before)
			return symbols, pads
		}
	}
	return symbols, pads
}

// base64Value is the value of every base64 symbol, 64 for other bytes.
var base64Value = func() (values [256]byte) {
	for i := range values {
		values[i] = 64
	}
	for i := range base64Symbols {
		values[base64Symbols[i]] = byte(i)
	}
	return values
}()

const base64Symbols = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

const (
	// longRun is the shortest run for which vector instructions are worth their scratch memory.
	longRun = 32 << 10
	// blockSymbols is how many symbols are decoded together into scratch memory that stays in the processor's cache.
	blockSymbols = 4096
)

// vectors reports whether the processor has the instructions that the library uses. Without them it is slower than base64Words.
var vectors = runtime.GOARCH == "arm64" || cpu.X86.Has(x86.AVX2)

// base64Run counts the base64 symbols at the start of src.
func base64Run(src []byte) int {
	n := base64Words(src[:min(len(src), blockSymbols)])
	if n == blockSymbols { // an escape often ends a run before, and each run would cost scratch memory
		if vectors && len(src) >= longRun {
			n += base64Blocks(src[n:])
		}
		n += base64Words(src[n:])
	}
	for n < len(src) && base64Value[src[n]] < 64 {
		n++
	}
	return n
}

// base64Blocks counts the symbols of the blocks at the start of src that consist of symbols only: those fill their part of the
// scratch memory. The decoder skips line ends and accepts padding, so a block that has any fills less.
func base64Blocks(src []byte) (n int) {
	decoded := make([]byte, blockSymbols/4*3)
	for ; n+blockSymbols <= len(src); n += blockSymbols {
		if filled, err := base64.StdEncoding.Decode(decoded, src[n:n+blockSymbols]); err != nil || filled < len(decoded) {
			break
		}
	}
	return n
}

// base64Words counts the symbols at the start of src in steps of 32, eight at a time: in seven bits no sum carries into the next byte,
// so adding 0x80 - low sets the high bit of the bytes that are at least low.
func base64Words(src []byte) int {
	i := 0
	for ; i+32 <= len(src); i += 32 {
		b := src[i : i+32]
		good := symbols(binary.LittleEndian.Uint64(b)) & symbols(binary.LittleEndian.Uint64(b[8:])) &
			symbols(binary.LittleEndian.Uint64(b[16:])) & symbols(binary.LittleEndian.Uint64(b[24:]))
		if good&highs != highs {
			break
		}
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// symbols sets the high bit of the bytes of w that are base64 symbols.
func symbols(w uint64) uint64 {
	const sevens = ones * 0x7F
	x := w & sevens
	y := x | ones*0x20 // A–Z become a–z, and nothing else does
	good := (y + ones*(0x80-'a')) &^ (y + ones*(0x80-'{'))
	good |= (x + ones*(0x80-'/')) &^ (x + ones*(0x80-':')) // the slash precedes the digits
	return (good | ^((x ^ ones*'+') + sevens)) &^ w
}
