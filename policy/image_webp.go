package policy

import "encoding/binary"

// readWebP reads the first chunk: a lossy or a lossless frame, or the extended header, which announces one.
func readWebP(w *window) picture {
	p := picture{format: "webp"}
	head := w.look(4, 16) // size, WEBP, the first chunk's header
	if head == nil {
		p.broken = tooShort
		return p
	}
	// One byte may be missing: some writers count the padding of the last chunk without writing it.
	declared, name := int(binary.LittleEndian.Uint32(head)), string(head[8:12])
	switch {
	case declared+8 > w.size+1:
		p.broken = "fewer bytes than its header says"
	case name == "VP8X":
		p.extended(w, w.look(20, 10))
	default:
		p.single(w, name, 20)
	}
	return p
}

// single reads the header of the one frame, whose chunk has the name and holds its data at the offset.
func (p *picture) single(w *window, name string, at int) {
	switch name {
	case "VP8 ":
		p.lossy(w.look(at, 10))
	case "VP8L":
		p.lossless(w.look(at, 5))
	default:
		p.broken = malformed
	}
}

// lossy reads the frame header of a VP8 chunk: three bytes of tag, the start code, the sides in 14 bits each.
func (p *picture) lossy(b []byte) {
	if b == nil || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
		p.broken = malformed
		return
	}
	p.width = int(binary.LittleEndian.Uint16(b[6:]) & 0x3FFF)
	p.height = int(binary.LittleEndian.Uint16(b[8:]) & 0x3FFF)
}

// lossless reads the header of a VP8L chunk: a signature, the sides less one in 14 bits each, the alpha bit.
func (p *picture) lossless(b []byte) {
	if b == nil || b[0] != 0x2F {
		p.broken = malformed
		return
	}
	sides := binary.LittleEndian.Uint32(b[1:])
	p.width = int(sides&0x3FFF) + 1
	p.height = int(sides>>14&0x3FFF) + 1
	p.clear = p.clear || sides>>28&1 != 0
}

// extended reads the flags and the canvas of a VP8X chunk and looks for the frame behind it, which must fill the
// canvas: a decoder that believes the one and a checker that believes the other would see two images.
func (p *picture) extended(w *window, b []byte) {
	if b == nil {
		p.broken = tooShort
		return
	}
	p.clear = b[0]&0x10 != 0
	p.animated = b[0]&0x02 != 0
	width, height := 1+int(uint24(b[4:])), 1+int(uint24(b[7:]))
	for at := 30; !p.animated; {
		chunk := w.look(at, 8)
		if chunk == nil {
			p.broken = tooShort
			break
		}
		size := int(binary.LittleEndian.Uint32(chunk[4:]))
		if name := string(chunk[:4]); name == "VP8 " || name == "VP8L" {
			p.single(w, name, at+8)
			break
		} else if name == "ANIM" || name == "ANMF" {
			p.animated = true
		}
		at += 8 + size + size&1
	}
	if p.broken == "" && !p.animated && (p.width != width || p.height != height) {
		p.broken = "a frame that does not fill the canvas"
	}
	p.width, p.height = width, height
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
