package policy

import (
	"strings"

	"sluice/policy/strictjson"
)

// value is one member's value as far as any rule looks at it.
type value struct {
	text  string // a number's literal; a string, decoded, of which maxKept bytes are kept
	count int32  // code points of a string, elements of a list that is read
	shape strictjson.Shape
}

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

// value consumes the next value and keeps what rules look at.
func (r *reader) value() (value, error) {
	v := value{shape: r.Shape()}
	switch v.shape {
	case strictjson.Number:
		literal, err := r.Number()
		v.text = string(literal)
		return v, err
	case strictjson.String:
		t, err := r.String()
		if err != nil {
			return v, err
		}
		v.text, v.count = kept(r.Raw(t), t.Escaped), int32(t.Points())
		return v, nil
	}
	return v, r.Skip()
}
