package strictjson

import (
	"bytes"
	"hash/maphash"
	"iter"
)

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

// checks are the state of a strict Reader.
type checks struct {
	members int // of the document so far
	open    openNames
	objects []openObject
}

// openObject is an object that is open: its names so far, and those known at its place.
type openObject struct {
	names objectNames
	known *Names
}

// maxKept is the number of names for which a Reader keeps memory: one body of ten thousand members must not hold it forever.
const maxKept = 1024

func (c *checks) begin() { c.objects = append(c.objects, openObject{names: c.open.begin()}) }

func (c *checks) end() {
	last := len(c.objects) - 1
	c.open.end(c.objects[last].names)
	c.objects = c.objects[:last]
}

// strictName steps over a member's name. It refuses names that two parsers could take for different members.
func (r *Reader) strictName() {
	r.Kind()
	start := r.pos
	r.Field = Unknown
	t := r.Text()
	c := r.checks
	o := &c.objects[len(c.objects)-1]
	switch {
	case r.fault != "":
		return
	case t.NUL:
		r.fail(start, FaultNUL)
		return
	case len(c.open.refs)-o.names.refs >= maxMembers || c.members >= maxAllMembers:
		r.fail(start, FaultMembers)
		return
	}
	c.members++
	ref := nameRef{start: uint32(r.pos - 1 - len(t.Raw)), end: uint32(r.pos - 1)}
	if t.Escaped {
		from := len(c.open.text)
		c.open.text = Unescape(c.open.text, t.Raw, from+maxName+1)
		ref = nameRef{start: uint32(from), end: uint32(len(c.open.text)), inText: true}
	}
	name := c.open.bytes(r.src, ref)
	switch {
	case len(name) > maxName:
		r.fail(start, FaultLongName)
	case !c.open.add(r.src, &o.names, ref):
		r.fail(start, FaultDuplicate)
	default:
		var same bool
		if r.Field, same = o.known.find(name); !same {
			r.fail(start, FaultCase)
		}
	}
}

// openNames holds the member names of the objects that are open, to find duplicates. All objects share the slices: an
// object's names come after those of the objects around it and are dropped when it ends.
type openNames struct {
	refs  []nameRef
	text  []byte   // decoded spelling of the names that had escapes
	slots []uint32 // hash tables of the objects with many names
}

// nameRef is the position of a name's decoded bytes.
type nameRef struct {
	start, end uint32
	inText     bool // in openNames.text rather than in the document
}

// objectNames is one object's share of openNames.
type objectNames struct {
	refs, text, slots int // where its share begins
	size              int // slots in its hash table, a power of two; 0: no table yet
}

// fewNames is how many names of an object are compared with one another, which is faster than hashing. Comparing more
// would make a body of many names cost the square of its size.
const fewNames = 12

// nameSeed makes the hash unpredictable, so that a client cannot send names that all fall on one slot.
var nameSeed = maphash.MakeSeed()

func (n *openNames) begin() objectNames {
	return objectNames{refs: len(n.refs), text: len(n.text), slots: len(n.slots)}
}

func (n *openNames) end(o objectNames) {
	n.refs, n.text, n.slots = n.refs[:o.refs], n.text[:o.text], n.slots[:o.slots]
}

// add adds the object's next name and reports whether it is new.
func (n *openNames) add(src []byte, o *objectNames, ref nameRef) bool {
	name := n.bytes(src, ref)
	if count := len(n.refs) - o.refs; count < fewNames {
		for _, other := range n.refs[o.refs:] {
			if bytes.Equal(n.bytes(src, other), name) {
				return false
			}
		}
		n.refs = append(n.refs, ref)
		return true
	} else if 2*count >= o.size {
		n.grow(src, o)
	}
	slot := n.find(src, o, name)
	if n.slots[slot] != 0 {
		return false
	}
	n.refs = append(n.refs, ref)
	n.slots[slot] = uint32(len(n.refs) - o.refs)
	return true
}

// grow makes the object's hash table larger. It is the last in slots: the objects inside this one have ended.
func (n *openNames) grow(src []byte, o *objectNames) {
	o.size = max(4*fewNames, 2*o.size)
	for o.size&(o.size-1) != 0 {
		o.size++
	}
	n.slots = append(n.slots[:o.slots], make([]uint32, o.size)...)
	for i, ref := range n.refs[o.refs:] {
		n.slots[n.find(src, o, n.bytes(src, ref))] = uint32(i + 1)
	}
}

// find returns the slot of the name, or the empty slot for it.
func (n *openNames) find(src []byte, o *objectNames, name []byte) int {
	for h := maphash.Bytes(nameSeed, name); ; h++ {
		slot := o.slots + int(h)&(o.size-1)
		i := n.slots[slot]
		if i == 0 || bytes.Equal(n.bytes(src, n.refs[o.refs+int(i)-1]), name) {
			return slot
		}
	}
}

func (n *openNames) bytes(src []byte, ref nameRef) []byte {
	if ref.inText {
		return n.text[ref.start:ref.end]
	}
	return src[ref.start:ref.end]
}
