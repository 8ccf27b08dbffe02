package meter

import (
	"hash/crc32"
	"slices"
)

const (
	proseKinds = 3 // content, thinking, tool arguments
	proseSlots = 4 // choices; a request asks for at most four
)

// prose measures the length of one text of an answer over all frames. Frames repeat the whole text so far, or have only the new part,
// and no answer states which. They repeat it if every frame begins with the previous frame's text. Length and checksum decide that,
// because keeping the text would take as much memory as the answer.
type prose struct {
	raw     int    // bytes so far in this frame, with JSON's escapes
	crc     uint32 // of these bytes
	length  int    // bytes without escapes
	follows bool   // the frame begins with the previous frame's text

	beforeRaw int // of the previous frame
	beforeCRC uint32

	sum, longest int  // of length over the frames
	differs      bool // a frame did not begin with the previous one's text
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// addBytes takes the next bytes, with JSON's escapes, and their length without escapes.
func (t *prose) addBytes(p []byte, decoded int) {
	t.length += decoded
	if missing := t.beforeRaw - t.raw; missing > 0 && missing <= len(p) {
		t.crc = crc32.Update(t.crc, castagnoli, p[:missing])
		t.follows = t.crc == t.beforeCRC
		t.raw += missing
		p = p[missing:]
	}
	t.crc = crc32.Update(t.crc, castagnoli, p)
	t.raw += len(p)
}

// endFrame closes the frame. A cut frame may be too short to show whether it begins with the previous frame's text.
func (t *prose) endFrame(cut bool) {
	if t.raw == 0 {
		return
	}
	t.sum += t.length
	t.longest = max(t.longest, t.length)
	t.differs = t.differs || t.beforeRaw > 0 && !t.follows && !(cut && t.raw < t.beforeRaw)
	t.beforeRaw, t.beforeCRC = t.raw, t.crc
	t.raw, t.crc, t.length, t.follows = 0, 0, 0, false
}

// total returns the length of the whole text.
func (t *prose) total() int {
	if t.differs {
		return t.sum
	}
	return t.longest
}

// maxAddresses bounds the addresses that are distinguished: several times the pictures of one request.
const maxAddresses = 16

// pictures counts the pictures of an answer by their addresses. A stream may repeat all pictures so far in every frame, or name each
// picture once. So the count is the larger of the most pictures in one frame and the different addresses over all frames.
type pictures struct {
	crc     uint32 // of the address being read
	started bool   // the address is not empty
	inFrame int
	most    int
	seen    [maxAddresses]uint32
	seenN   int
}

// addBytes takes the next bytes of an address.
func (p *pictures) addBytes(b []byte) {
	p.crc = crc32.Update(p.crc, castagnoli, b)
	p.started = p.started || len(b) > 0
}

// endAddress closes the address; false: it was empty.
func (p *pictures) endAddress() bool {
	crc, ok := p.crc, p.started
	p.crc, p.started = 0, false
	if !ok {
		return false
	}
	p.inFrame++
	p.most = max(p.most, p.inFrame)
	if p.seenN < maxAddresses && !slices.Contains(p.seen[:p.seenN], crc) {
		p.seen[p.seenN] = crc
		p.seenN++
	}
	return true
}

func (p *pictures) endFrame() { p.inFrame, p.crc, p.started = 0, 0, false }
