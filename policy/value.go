package policy

import (
	"math"
	"strconv"
	"strings"

	"sluice/policy/strictjson"
)

// value is one member's value as far as any rule looks at it.
type value struct {
	text  string // a number's literal; a string, decoded, of which maxKept bytes are kept
	count int32  // code points of a string, elements of a list that is read
	shape strictjson.Shape
}

// maxModel is the longest model name in bytes. The service states no bound; no name of its is a tenth as long.
const maxModel = 256

// maxKept is how much of a string is kept for the rules. The longest that one of them compares is a model name.
const maxKept = maxModel + 1

// set reports whether the value is there: null is what the service takes for absent.
func (v value) set() bool { return v.shape > strictjson.Null }

// given is the value as a finding tells it: numbers as they were written, strings quoted, the rest by its type.
func (v value) given() string {
	switch v.shape {
	case strictjson.Number:
		return v.text
	case strictjson.String:
		return quote(v.text)
	}
	return v.shape.String()
}

// integer is the value as an integer, if it is written as one. 1.0 and 1e0 are numbers but not written as integers,
// and -0 is none: what upstream makes of them is not known. One that does not fit is as far out of every range as
// the largest that does.
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

// number is the value as a number. One too large for a double is none; one too small is 0.
func (v value) number() (float64, bool) {
	if v.shape != strictjson.Number {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.text, 64)
	return n, err == nil
}

// kept decodes as much of a string as rules look at.
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

// common is raw as a string of the program where it is one of the words that most requests hold, else empty.
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

// quote writes a client's string for a message: printable ASCII, not much of it.
func quote(s string) string {
	if short := cut(s); short != s {
		return strconv.QuoteToASCII(short) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// cut is the beginning of s, as much of it as may be repeated.
func cut(s string) string {
	if len(s) <= strictjson.MaxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:strictjson.MaxEcho], "")
}
