package picture

import "encoding/binary"

// readPNG reads IHDR and walks the chunks up to the pixels: the chunks for transparency (tRNS) and animation (acTL) must
// come before them.
func readPNG(w *window) Header {
	h := Header{Format: "png"}
	head := w.look(8, 18) // length, IHDR, width, height, depth, colour type
	switch {
	case head == nil:
		h.Broken = tooShort
		return h
	case binary.BigEndian.Uint32(head) != 13 || string(head[4:8]) != "IHDR":
		h.Broken = malformed
		return h
	}
	h.Width = int(binary.BigEndian.Uint32(head[8:]))
	h.Height = int(binary.BigEndian.Uint32(head[12:]))
	colour := head[17]
	h.Alpha = colour == 4 || colour == 6
	if !h.Alpha && colour != 0 && colour != 2 && colour != 3 {
		h.Broken = malformed
		return h
	}
	h.chunks(w)
	return h
}

// chunks walks the chunks after IHDR.
func (h *Header) chunks(w *window) {
	for at := 33; ; {
		chunk := w.look(at, 8)
		if chunk == nil {
			h.Broken = tooShort
			if w.budget < 8 {
				h.Broken = tooLong
			}
			return
		}
		switch string(chunk[4:]) {
		case "tRNS":
			h.Clear = true
		case "acTL":
			h.Animated = true
		case "IDAT", "IEND":
			return
		}
		at += 12 + int(binary.BigEndian.Uint32(chunk))
	}
}
