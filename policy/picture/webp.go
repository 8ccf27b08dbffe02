package picture

import "encoding/binary"

// readWebP reads the first chunk: a lossy or a lossless frame, or the extended header, which announces one.
func readWebP(w *window) Header {
	h := Header{Format: "webp"}
	head := w.look(4, 16) // size, WEBP, the first chunk's header
	if head == nil {
		h.Broken = tooShort
		return h
	}
	// One byte may be missing: some writers count the padding of the last chunk without writing it.
	declared, name := int(binary.LittleEndian.Uint32(head)), string(head[8:12])
	switch {
	case declared+8 > w.size+1:
		h.Broken = "fewer bytes than its header says"
	case name == "VP8X":
		h.extended(w, w.look(20, 10))
	default:
		h.single(w, name, 20)
	}
	return h
}

// single reads the header of a frame from the chunk with the name, whose data is at the offset.
func (h *Header) single(w *window, name string, at int) {
	switch name {
	case "VP8 ":
		h.lossy(w.look(at, 10))
	case "VP8L":
		h.lossless(w.look(at, 5))
	default:
		h.Broken = malformed
	}
}

// lossy reads the frame header of a VP8 chunk: three bytes of tag, the start code, the sides in 14 bits each.
func (h *Header) lossy(b []byte) {
	if b == nil || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
		h.Broken = malformed
		return
	}
	h.Width = int(binary.LittleEndian.Uint16(b[6:]) & 0x3FFF)
	h.Height = int(binary.LittleEndian.Uint16(b[8:]) & 0x3FFF)
}

// lossless reads the header of a VP8L chunk: a signature, the sides less one in 14 bits each, the alpha bit.
func (h *Header) lossless(b []byte) {
	if b == nil || b[0] != 0x2F {
		h.Broken = malformed
		return
	}
	sides := binary.LittleEndian.Uint32(b[1:])
	h.Width = int(sides&0x3FFF) + 1
	h.Height = int(sides>>14&0x3FFF) + 1
	h.Clear = h.Clear || sides>>28&1 != 0
}

// extended reads the flags and the canvas of a VP8X chunk, and the frame after it. The frame must fill the canvas:
// otherwise two decoders could see two images.
func (h *Header) extended(w *window, b []byte) {
	if b == nil {
		h.Broken = tooShort
		return
	}
	h.Clear = b[0]&0x10 != 0
	h.Animated = b[0]&0x02 != 0
	width, height := 1+int(uint24(b[4:])), 1+int(uint24(b[7:]))
	for at := 30; !h.Animated; {
		chunk := w.look(at, 8)
		if chunk == nil {
			h.Broken = tooShort
			break
		}
		size := int(binary.LittleEndian.Uint32(chunk[4:]))
		if name := string(chunk[:4]); name == "VP8 " || name == "VP8L" {
			h.single(w, name, at+8)
			break
		} else if name == "ANIM" || name == "ANMF" {
			h.Animated = true
		}
		at += 8 + size + size&1
	}
	if h.Broken == "" && !h.Animated && (h.Width != width || h.Height != height) {
		h.Broken = "a frame that does not fill the canvas"
	}
	h.Width, h.Height = width, height
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
