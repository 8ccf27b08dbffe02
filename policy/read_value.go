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

// skip consumes the next value as strictly as any other, and keeps nothing of it.
func (r *reader) skip() error {
	switch r.shape() {
	case shapeString:
		t, err := r.string()
		if err == nil && r.counting {
			r.countText(t)
		}
		return err
	case shapeObject:
		return r.object(nil, nil)
	case shapeArray:
		return r.array((*reader).skip)
	case shapeTrue:
		return r.word("true")
	case shapeFalse:
		return r.word("false")
	case shapeNull:
		return r.word("null")
	}
	_, err := r.number()
	return err
}

// array consumes an array, each element by the function.
func (r *reader) array(each func(*reader) error) error {
	if err := r.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.more(first, ']')
		if err != nil || !more {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// object consumes an object: each known member by the function, all others by skip.
func (r *reader) object(p *place, member func(*reader, field) error) error {
	if err := r.enter(); err != nil {
		return err
	}
	m := r.names.open()
	for first := true; ; first = false {
		more, err := r.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			r.names.close(m)
			return nil
		}
		f, err := r.name(p, &m)
		if err != nil {
			return err
		}
		if f == fieldUnknown || f == fieldKnown {
			err = r.skip()
		} else {
			err = member(r, f)
		}
		if err != nil {
			return err
		}
	}
}

// name consumes a member's name and colon. It refuses what two parsers could take for two different members.
func (r *reader) name(p *place, m *members) (field, error) {
	if r.peek() != '"' {
		return 0, r.fail(r.pos, FaultSyntax)
	}
	start := r.pos
	t, err := r.string()
	switch {
	case err != nil:
		return 0, err
	case t.nul:
		return 0, r.fail(start, FaultNUL)
	case len(r.names.refs)-m.refs >= maxMembers:
		return 0, r.fail(start, FaultMembers)
	}
	ref := nameRef{start: uint32(t.start), end: uint32(t.end)}
	if t.escaped {
		from := len(r.names.text)
		r.names.text = unescape(r.names.text, r.src[t.start:t.end], from+maxName+1)
		ref = nameRef{start: uint32(from), end: uint32(len(r.names.text)), inText: true}
	}
	name := r.names.bytes(r.src, ref)
	if len(name) > maxName {
		return 0, r.fail(start, FaultLongName)
	}
	if !r.names.add(r.src, m, ref) {
		return 0, r.fail(start, FaultDuplicate)
	}
	f, same := p.find(name)
	if !same {
		return 0, r.fail(start, FaultCase)
	}
	return f, r.take(':')
}
