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

// maxJPEGHeader is how far into a JPEG its frame header may be. It follows thumbnails, colour profiles and camera metadata.
const maxJPEGHeader = 1 << 20

// readJPEG walks the marker segments up to the first frame header, which has the sides. Like the common decoders, it
// skips bytes between segments.
func readJPEG(w *window) Header {
	h := Header{Format: "jpeg"}
	for at := 2; ; {
		if at > maxJPEGHeader || w.budget < 9 {
			h.Broken = tooLong
			return h
		}
		marker := w.look(at, 2)
		switch {
		case marker == nil:
			h.Broken = tooShort
			return h
		case marker[0] != 0xFF || marker[1] == 0xFF: // stray bytes, or fill before a marker
			at++
			continue
		case marker[1] == 0 || marker[1] >= 0xD0 && marker[1] <= 0xD8 || marker[1] == 1: // no segment follows
			at += 2
			continue
		case marker[1] == 0xD9 || marker[1] == 0xDA: // the image ends, or its pixels begin, without a frame
			h.Broken = malformed
			return h
		case isFrame(marker[1]):
			h.frame(w.look(at+4, 5))
			return h
		}
		length := w.look(at+2, 2)
		if length == nil {
			h.Broken = tooShort
			return h
		}
		at += 2 + int(binary.BigEndian.Uint16(length))
	}
}

// isFrame reports whether a marker opens a frame header: SOF0 to SOF15 without DHT, JPG and DAC, which are in that range.
func isFrame(marker byte) bool {
	return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
}

// frame reads precision, height and width of a frame header.
func (h *Header) frame(head []byte) {
	if head == nil {
		h.Broken = tooShort
		return
	}
	h.Height = int(binary.BigEndian.Uint16(head[1:]))
	h.Width = int(binary.BigEndian.Uint16(head[3:]))
}

// readBMP reads the file header and the bitmap header after it, of OS/2 or of Windows. The height is negative if the rows
// are from top to bottom.
func readBMP(w *window) Header {
	h := Header{Format: "bmp"}
	head := w.look(0, 18)
	if head == nil {
		h.Broken = tooShort
		return h
	}
	pixels := int(binary.LittleEndian.Uint32(head[10:]))
	size := int(binary.LittleEndian.Uint32(head[14:]))
	var depth, compression int
	switch head = w.look(18, 16); {
	case size == 12 && head != nil:
		h.Width, h.Height = int(binary.LittleEndian.Uint16(head)), int(binary.LittleEndian.Uint16(head[2:]))
		depth = int(binary.LittleEndian.Uint16(head[6:]))
	case size >= 40 && size <= 124 && head != nil:
		h.Width = int(int32(binary.LittleEndian.Uint32(head)))
		h.Height = abs(int(int32(binary.LittleEndian.Uint32(head[4:]))))
		depth = int(binary.LittleEndian.Uint16(head[10:]))
		compression = int(binary.LittleEndian.Uint32(head[12:]))
	case head == nil:
		h.Broken = tooShort
	default:
		h.Broken = malformed
	}
	if h.Broken == "" && !plausibleBMP(h, depth, compression, w.size-pixels) {
		h.Broken = "fewer bytes than its size needs"
	}
	return h
}

// plausibleBMP reports whether the remaining bytes can hold the pixels. Only for uncompressed pixels (0, and 3: bit
// fields) and for sides that fit can that be judged. In some files the last row's padding is missing, so one row may
// be short.
func plausibleBMP(h Header, depth, compression, left int) bool {
	if compression != 0 && compression != 3 || !SideFits(h.Width) || !SideFits(h.Height) {
		return true
	}
	row := (h.Width*depth + 31) / 32 * 4
	return left >= row*(h.Height-1)
}

func abs(n int) int { return max(n, -n) }

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
