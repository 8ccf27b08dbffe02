package strictjson

import (
	"bytes"
	"hash/maphash"
)

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
	size              int // slots in its hash table, a power of two; 0: it has none yet
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
