package strictjson

import "iter"

// A Field is the caller's number for a known name, 1 to 254. Several names may have the same.
type Field uint8

// The fields that are not the caller's.
const (
	Unknown Field = 0   // the name is not known at this place
	Ignored Field = 255 // the name is known, so its case is checked; its value is skipped
)

// Names are the names known at one place of a document, by their length: a handful of comparisons is faster than a
// hash. At a nil *Names no name is known.
type Names [maxKnown + 1][]knownName

type knownName struct {
	name  string
	field Field
}

// maxKnown is the length in bytes of the longest name that may be known; longer names are unknown without a look-up.
const maxKnown = 32

// NewNames makes Names. The names MUST be in lower case and at most 32 bytes long, the fields not Unknown.
func NewNames(names map[string]Field) *Names {
	n := new(Names)
	for name, f := range names {
		n[len(name)] = append(n[len(name)], knownName{name, f})
	}
	return n
}

// All yields every name with its field, in no order.
func (n *Names) All() iter.Seq2[string, Field] {
	return func(yield func(string, Field) bool) {
		for _, list := range n {
			for _, k := range list {
				if !yield(k.name, k.field) {
					return
				}
			}
		}
	}
}

// find returns the field of a name. same is false if the name is known in another case, by Unicode's simple folding: one
// parser's "Model" is another's "model". Besides A–Z, only U+017F (ſ, to s) and U+212A (K, to k) fold to ASCII letters.
func (n *Names) find(name []byte) (f Field, same bool) {
	if n == nil {
		return Unknown, true
	}
	if f := n.exactly(name); f != Unknown {
		return f, true
	}
	var buf [maxKnown]byte
	lower, folded := fold(buf[:0], name)
	if !folded {
		return Unknown, true
	}
	f = n.exactly(lower)
	return f, f == Unknown
}

// exactly is the field of the name as it is spelled.
func (n *Names) exactly(name []byte) Field {
	if len(name) > maxKnown {
		return Unknown
	}
	for i := range n[len(name)] {
		if k := &n[len(name)][i]; k.name == string(name) {
			return k.field
		}
	}
	return Unknown
}

// fold appends name in lower case to dst and reports whether that made a difference and fits into dst.
func fold(dst, name []byte) (lower []byte, folded bool) {
	for i := 0; i < len(name); i++ {
		if len(dst) == cap(dst) {
			return dst, false
		}
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c, folded = c|0x20, true
		case c == 0xC5 && i+1 < len(name) && name[i+1] == 0xBF:
			c, folded = 's', true
			i++
		case c == 0xE2 && i+2 < len(name) && name[i+1] == 0x84 && name[i+2] == 0xAA:
			c, folded = 'k', true
			i += 2
		}
		dst = append(dst, c)
	}
	return dst, folded
}
