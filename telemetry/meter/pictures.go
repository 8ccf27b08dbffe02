package meter

import "hash/crc32"

// maxAddresses is how many addresses are distinguished: several times the pictures of one request.
const maxAddresses = 16

// pictures counts the pictures of an answer by their addresses. A stream may name all pictures so far in every frame, or each
// picture once. So the count is the number in the frame with most of them, or the number of different addresses over all
// frames, whichever is larger.
type pictures struct {
	crc     uint32 // of the address being read
	started bool   // it has a first byte
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

// endAddress closes the address and reports whether there was one.
func (p *pictures) endAddress() bool {
	crc, ok := p.crc, p.started
	p.crc, p.started = 0, false
	if !ok {
		return false
	}
	p.inFrame++
	p.most = max(p.most, p.inFrame)
	for _, known := range p.seen[:p.seenN] {
		if known == crc {
			return true
		}
	}
	if p.seenN < maxAddresses {
		p.seen[p.seenN] = crc
		p.seenN++
	}
	return true
}

func (p *pictures) endFrame() { p.inFrame, p.crc, p.started = 0, 0, false }

func (p *pictures) count() int { return max(p.most, p.seenN) }
