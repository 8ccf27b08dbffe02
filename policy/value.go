package policy

import (
	"math"
	"strconv"
	"strings"

	"sluice/policy/strictjson"
)

// value holds as much of a member's value as rules need.
type value struct {
	text  string // a number's literal, or the first maxKept bytes of a string, decoded
	count int32  // code points of a string, elements of a list
	shape strictjson.Shape
}

// maxModel is the longest model name in bytes. The service states no bound; its names are not a tenth as long.
const maxModel = 256

// maxKept is how many bytes of a string are kept: one more than the longest that a rule allows, a model name.
const maxKept = maxModel + 1

// set reports whether the value is present. To the service null is absent.
func (v value) set() bool { return v.shape > strictjson.Null }

// given is the value as a finding writes it: numbers as written, strings quoted, the rest by type.
func (v value) given() string {
	switch v.shape {
	case strictjson.Number:
		return v.text
	case strictjson.String:
		return quote(v.text)
	}
	return v.shape.String()
}

// integer is the value as an integer, if it is written as one. 1.0, 1e0 and -0 are not: how the service reads them is
// not known. One beyond int64 is the nearest int64, which is out of every range, too.
func (v value) integer() (int64, bool) {
	if v.shape != strictjson.Number || !isInteger(v.text) {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil && v.text[0] == '-' {
		return math.MinInt64, true
	} else if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

// isInteger reports whether a number's literal is written as an integer.
func isInteger[T string | []byte](literal T) bool {
	for i := 0; i < len(literal); i++ {
		if c := literal[i]; c == '.' || c|0x20 == 'e' {
			return false
		}
	}
	return string(literal) != "-0"
}

// number is the value as a number. One too large for a double is not a number here; one too small is 0.
func (v value) number() (float64, bool) {
	if v.shape != strictjson.Number {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.text, 64)
	return n, err == nil
}

// stringValue is a string as a value.
func stringValue(t strictjson.Text) value {
	return value{shape: strictjson.String, text: kept(t.Raw, t.Escaped), count: int32(t.Points())}
}

// kept decodes as much of a string as rules need. escaped: raw has escapes.
func kept(raw []byte, escaped bool) string {
	if word := common(raw); word != "" {
		return word
	}
	if !escaped && len(raw) <= maxKept {
		return string(raw)
	}
	var buf [maxKept + 4]byte
	kept := strictjson.Unescape(buf[:0], raw, maxKept)
	if len(kept) >= maxKept { // the cut may have split a character
		return strings.ToValidUTF8(string(kept), "")
	}
	return string(kept)
}

// common returns raw as a constant if it is a word that most requests hold, which costs no allocation; else "".
func common(raw []byte) string {
	switch string(raw) {
	case "user":
		return "user"
	case "system":
		return "system"
	case "assistant":
		return "assistant"
	case "tool":
		return "tool"
	case "function":
		return "function"
	case "message":
		return "message"
	}
	return ""
}

// quote writes the beginning of a client's string for a message, in printable ASCII.
func quote(s string) string {
	if short := cut(s); short != s {
		return strconv.QuoteToASCII(short) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// cut is the beginning of s, as much as a message may repeat.
func cut(s string) string {
	if len(s) <= strictjson.MaxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:strictjson.MaxEcho], "")
}

// The bounds of an output size (interface.md, "Size rules"), in pixels.
const (
	minArea           = 768 * 768
	maxArea           = 2048 * 2048
	maxAreaInterleave = 1280 * 1280
	maxAspect         = 4  // the longer side over the shorter
	sizeStep          = 16 // what the service rounds sides to
)

// size is the value of parameters.size: width*height, or one of the classes 1K and 2K.
type size struct {
	width, height int64 // at most maxSide; 0 for a class
}

// maxSide replaces any larger side. It is out of every range, and the product of two does not overflow.
const maxSide = 1 << 30

// parseSize reads a size: two numbers with a star between them, in decimal digits without sign, space or leading zero; or
// 1K or 2K.
func parseSize(s string) (size, bool) {
	if s == "1K" || s == "2K" {
		return size{}, true
	}
	width, n := parseSide(s)
	if n == 0 || n == len(s) || s[n] != '*' {
		return size{}, false
	}
	height, m := parseSide(s[n+1:])
	return size{width, height}, m > 0 && n+1+m == len(s)
}

// IsSize reports whether a rule allows a text as the size of a picture.
func IsSize(text string) bool {
	_, ok := parseSize(text)
	return ok
}

// MinEditPixels is the smallest width × height of a picture that the rules allow for editing models.
const MinEditPixels = minArea

// MaxEditPixels is the largest.
const MaxEditPixels = maxArea

// IsEditSize reports whether the rules on editing models allow a text as a size, by its pixels and the ratio of its sides.
func IsEditSize(text string) bool {
	s, ok := parseSize(text)
	return ok && (s.class() || s.area() >= minArea && s.area() <= maxArea && s.inAspect())
}

// Pixels returns width × height of a size; 0 if the text is not a size, or if the service chooses the sides.
func Pixels(text string) int64 {
	s, _ := parseSize(text)
	return s.area()
}

// parseSide reads the number at the start of s and returns it with its length in bytes; 0 and 0 if s does not start with one.
func parseSide(s string) (side int64, n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		if side == 0 && n > 0 { // a leading zero
			return 0, 0
		}
		side = min(side*10+int64(s[n]-'0'), maxSide)
		n++
	}
	if side == 0 {
		return 0, 0
	}
	return side, n
}

// class reports whether the size is 1K or 2K, whose sides the service chooses.
func (s size) class() bool { return s.width == 0 }

func (s size) area() int64 { return s.width * s.height }

// inAspect reports whether the aspect ratio is from 1:4 to 4:1.
func (s size) inAspect() bool { return s.width <= maxAspect*s.height && s.height <= maxAspect*s.width }

// inSteps reports whether both sides are multiples of 16.
func (s size) inSteps() bool { return s.width%sizeStep == 0 && s.height%sizeStep == 0 }
