package policy

import (
	"bytes"
	"hash/maphash"
)

// names holds the member names of the objects that are open, to find duplicates. All objects share the slices: an
// object's names lie behind those of the objects around it and are dropped when it closes.
type names struct {
	refs  []nameRef
	text  []byte   // decoded spelling of the names that had escapes
	slots []uint32 // hash tables of the objects with many names
}

// nameRef is where a name's decoded bytes are.
type nameRef struct {
	start, end uint32
	inText     bool // in names.text rather than in the document
}

// members is one object's share of names.
type members struct {
	refs, text, slots int // where its share begins
	size              int // slots in its hash table, a power of two; 0 while it has none
}

// fewNames is up to how many names an object's names are simply compared with one another, which is faster than
// hashing them. No more than that, or a body of many names would cost the square of its size.
const fewNames = 12

// nameSeed makes the hash unpredictable, so that nobody can send names that all fall on one slot.
var nameSeed = maphash.MakeSeed()

func (n *names) open() members {
	return members{refs: len(n.refs), text: len(n.text), slots: len(n.slots)}
}

func (n *names) close(m members) {
	n.refs, n.text, n.slots = n.refs[:m.refs], n.text[:m.text], n.slots[:m.slots]
}

// add takes in the object's next name and reports whether it is new.
func (n *names) add(src []byte, m *members, ref nameRef) bool {
	name := n.bytes(src, ref)
	if count := len(n.refs) - m.refs; count < fewNames {
		for _, other := range n.refs[m.refs:] {
			if bytes.Equal(n.bytes(src, other), name) {
				return false
			}
		}
		n.refs = append(n.refs, ref)
		return true
	} else if 2*count >= m.size {
		n.grow(src, m)
	}
	slot := n.find(src, m, name)
	if n.slots[slot] != 0 {
		return false
	}
	n.refs = append(n.refs, ref)
	n.slots[slot] = uint32(len(n.refs) - m.refs)
	return true
}

// grow makes the object's hash table larger. It is the last in slots: the objects inside this one have closed.
func (n *names) grow(src []byte, m *members) {
	m.size = max(4*fewNames, 2*m.size)
	for m.size&(m.size-1) != 0 {
		m.size++
	}
	n.slots = append(n.slots[:m.slots], make([]uint32, m.size)...)
	for i, ref := range n.refs[m.refs:] {
		n.slots[n.find(src, m, n.bytes(src, ref))] = uint32(i + 1)
	}
}

// find returns the slot that holds name, or the empty one where it belongs.
func (n *names) find(src []byte, m *members, name []byte) int {
	for h := maphash.Bytes(nameSeed, name); ; h++ {
		slot := m.slots + int(h)&(m.size-1)
		i := n.slots[slot]
		if i == 0 || bytes.Equal(n.bytes(src, n.refs[m.refs+int(i)-1]), name) {
			return slot
		}
	}
}

func (n *names) bytes(src []byte, ref nameRef) []byte {
	if ref.inText {
		return n.text[ref.start:ref.end]
	}
	return src[ref.start:ref.end]
}
