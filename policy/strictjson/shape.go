package strictjson

// Shape is the JSON type of a value, with true and false apart. The zero value stands for a member that is not there.
type Shape uint8

// The shapes.
const (
	Absent Shape = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// String names the shape as messages do: "a number".
func (s Shape) String() string {
	return [...]string{"nothing", "null", "false", "true", "a number", "a string", "an array", "an object"}[s]
}

// Shape is the shape of the value that comes next. It looks at the first byte only, so the value may still turn out to
// be malformed.
func (s *Scanner) Shape() Shape {
	switch c := s.peek(); c {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't':
		return True
	case 'f':
		return False
	case 'n':
		return Null
	}
	return Number // or no value at all, which Number finds out
}
