package policy

import "encoding/binary"

// readPNG reads IHDR and walks the chunks up to the pixels: tRNS and acTL, which say that the image is transparent or
// animated, must stand before them.
func readPNG(w *window) picture {
	p := picture{format: "png"}
	head := w.look(8, 18) // length, IHDR, width, height, depth, colour type
	switch {
	case head == nil:
		p.broken = tooShort
		return p
	case binary.BigEndian.Uint32(head) != 13 || string(head[4:8]) != "IHDR":
		p.broken = malformed
		return p
	}
	p.width = int(binary.BigEndian.Uint32(head[8:]))
	p.height = int(binary.BigEndian.Uint32(head[12:]))
	colour := head[17]
	p.alpha = colour == 4 || colour == 6
	if !p.alpha && colour != 0 && colour != 2 && colour != 3 {
		p.broken = malformed
		return p
	}
	p.chunks(w)
	return p
}

// chunks walks the chunks behind IHDR.
func (p *picture) chunks(w *window) {
	for at := 33; ; {
		chunk := w.look(at, 8)
		if chunk == nil {
			p.broken = tooShort
			if w.budget < 8 {
				p.broken = tooLong
			}
			return
		}
		switch string(chunk[4:]) {
		case "tRNS":
			p.clear = true
		case "acTL":
			p.animated = true
		case "IDAT", "IEND":
			return
		}
		at += 12 + int(binary.BigEndian.Uint32(chunk))
	}
}
