package policy

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// dataURI is an image inside the body: data:{mime_type};base64,{data}.
type dataURI struct {
	media  string // the media type in lower case
	data   cursor // stands before the first base64 symbol
	size   int    // bytes of the decoded data, computed from the number of symbols
	padded bool   // the = that RFC 4648 puts at the end are there
}

// maxMedia bounds the media type of a data URI; the longest that means anything here is a quarter of it.
const maxMedia = 64

// isDataURI reports whether the string begins as a data URI does, in any case.
func isDataURI(raw []byte, escaped bool) bool {
	c := cursor{raw: raw, escaped: escaped}
	return c.skipWord("data:")
}

// base64Ahead finds out how much of the string that opens src is base64 behind the head of a data URI: it reports the
// index of the first symbol and of the first byte that is none, both 0 where src is nothing of the sort. The pass over
// the document then need not look at those bytes again, which are nearly all of a large body.
func base64Ahead(src []byte) (end int) {
	const mark = ";base64,"
	head := src[:min(len(src), 1+len("data:")+maxMedia+len(mark))]
	at := bytes.Index(head, []byte(mark))
	if at < 0 || plain(head[:at], 1) != at {
		return 0
	}
	first := at + len(mark)
	return first + base64Run(src[first:])
}

// parseDataURI reads a data URI of exactly the form that interface.md gives: one media type, no parameters, then
// base64 in the standard alphabet without white space. The decoders of the standard library step over line ends and
// its media type parser takes parameters, so neither is of use.
//
// known is the index in raw up to which the data is known to be base64; 0 where nothing is known.
func parseDataURI(raw []byte, escaped bool, known int) (u dataURI, ok bool) {
	c := cursor{raw: raw, escaped: escaped}
	if !c.skipWord("data:") {
		return u, false
	}
	var media strings.Builder
	slashes := 0
	for {
		b, more := c.next()
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
	u.media = media.String()
	if slashes != 1 || u.media[0] == '/' || u.media[len(u.media)-1] == '/' || !c.skipWord("base64,") {
		return u, false
	}
	u.data = c
	run := max(known-c.pos, 0)
	c.pos += run
	symbols, pads := c.base64()
	symbols += run
	u.size = symbols * 3 / 4
	u.padded = (symbols+pads)%4 == 0
	return u, c.pos == len(raw) && symbols > 0 && symbols%4 != 1 && pads <= 2 && (u.padded || pads == 0)
}

// isMediaByte reports whether a media type may hold b, beside its slash: the characters of RFC 6838's names.
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

// skipWord consumes word in any case, which is written in lower case, and reports whether it was there.
func (c *cursor) skipWord(word string) bool {
	for i := 0; i < len(word); i++ {
		if b, ok := c.next(); !ok || lower(b) != word[i] {
			return false
		}
	}
	return true
}

// base64 consumes symbols and the padding behind them, and counts both. What it leaves is not base64.
func (c *cursor) base64() (symbols, pads int) {
	for c.pos < len(c.raw) {
		n := base64Run(c.raw[c.pos:])
		c.pos += n
		symbols += n
		before := c.pos
		switch b, ok := c.next(); {
		case ok && base64Value[b] < 64: // written as an escape: some writers escape the slash, some the plus
			symbols++
		case ok && b == '=':
			for pads = 1; ; pads++ {
				before = c.pos
				if b, ok := c.next(); !ok || b != '=' {
					c.pos = before
					return symbols, pads
				}
			}
		default:
			c.pos = before
			return symbols, pads
		}
	}
	return symbols, pads
}

// base64Value is the value of every base64 symbol, 64 for what is none.
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

// base64Run counts the base64 symbols at the start of src. Eight at a time: in seven bits no sum carries into the next
// byte, so adding 0x80 - low sets the high bit of the bytes that are at least low.
func base64Run(src []byte) int {
	i := 0
	for ; i+32 <= len(src); i += 32 {
		b := src[i : i+32]
		good := symbols(binary.LittleEndian.Uint64(b)) & symbols(binary.LittleEndian.Uint64(b[8:])) &
			symbols(binary.LittleEndian.Uint64(b[16:])) & symbols(binary.LittleEndian.Uint64(b[24:]))
		if good&highs != highs {
			break
		}
	}
	for i < len(src) && base64Value[src[i]] < 64 {
		i++
	}
	return i
}

// symbols sets the high bit of the bytes of w that are base64 symbols.
func symbols(w uint64) uint64 {
	const sevens = ones * 0x7F
	x := w & sevens
	y := x | ones*0x20 // A–Z become a–z, and nothing else does
	good := (y + ones*(0x80-'a')) &^ (y + ones*(0x80-'{'))
	good |= (x + ones*(0x80-'/')) &^ (x + ones*(0x80-':')) // the slash stands before the digits
	return (good | ^((x ^ ones*'+') + sevens)) &^ w
}
