package policy

import "strings"

// shape is the JSON type of a value, with true and false apart. The zero value is a member that is not there.
type shape uint8

const (
	shapeAbsent shape = iota
	shapeNull
	shapeFalse
	shapeTrue
	shapeNumber
	shapeString
	shapeArray
	shapeObject
)

// String names the shape the way a message does.
func (s shape) String() string {
	return [...]string{"nothing", "null", "false", "true", "a number", "a string", "an array", "an object"}[s]
}

// value is one member's value as far as any rule looks at it.
type value struct {
	text  string // a number's literal; a string, decoded, of which maxKept bytes are kept
	count int32  // code points of a string, elements of a list that is read
	shape shape
}

// maxKept is how much of a string is kept for the rules. The longest that one of them compares is a model name.
const maxKept = maxModel + 1

// set reports whether the value is there: null is what the service takes for absent.
func (v value) set() bool { return v.shape > shapeNull }

// given is the value as a finding tells it: numbers as they were written, strings quoted, the rest by its type.
func (v value) given() string {
	switch v.shape {
	case shapeNumber:
		return v.text
	case shapeString:
		return quote(v.text)
	}
	return v.shape.String()
}

// kept decodes as much of a string as rules look at.
func (r *reader) kept(t text) string {
	raw := r.src[t.start:t.end]
	if word := common(raw); word != "" {
		return word
	}
	if !t.escaped && len(raw) <= maxKept {
		return string(raw)
	}
	var buf [maxKept + 4]byte
	kept := unescape(buf[:0], raw, maxKept)
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

// shape is the type of the value that comes next.
func (r *reader) shape() shape {
	switch c := r.peek(); c {
	case '"':
		return shapeString
	case '{':
		return shapeObject
	case '[':
		return shapeArray
	case 't':
		return shapeTrue
	case 'f':
		return shapeFalse
	case 'n':
		return shapeNull
	}
	return shapeNumber // or nothing at all, which number will find out
}

// value consumes the next value and keeps what rules look at.
func (r *reader) value() (value, error) {
	v := value{shape: r.shape()}
	switch v.shape {
	case shapeNumber:
		literal, err := r.number()
		v.text = string(literal)
		return v, err
	case shapeString:
		t, err := r.string()
		if err != nil {
			return v, err
		}
		v.text, v.count = r.kept(t), int32(t.points())
		return v, nil
	}
	return v, r.skip()
}
