package policy

import (
	"math"
	"strconv"
	"strings"

	"sluice/policy/strictjson"
)

// value is as much of a member's value as rules look at.
type value struct {
	text  string // a number's literal, or the first maxKept bytes of a string, decoded
	count int32  // code points of a string, elements of a list
	shape strictjson.Shape
}

// maxModel is the longest model name in bytes. The service states no bound; its names are not a tenth as long.
const maxModel = 256

// maxKept is how many bytes of a string are kept: one more than the longest that a rule allows, a model name.
const maxKept = maxModel + 1

// set reports whether the value is there. The service takes null for absent.
func (v value) set() bool { return v.shape > strictjson.Null }

// given is the value as a finding writes it: numbers as they came, strings quoted, the rest by type.
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

// kept decodes as much of a string as rules look at. escaped says whether raw has escapes.
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
