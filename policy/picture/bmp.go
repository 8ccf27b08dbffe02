package picture

import "encoding/binary"

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
		h.Broken = "fewer bytes than its sides need"
	}
	return h
}

// plausibleBMP reports whether left bytes can hold the pixels. That is known only of uncompressed ones (0, and 3: bit
// fields) and judged only for sides that fit. In some files the last row's padding is missing, so one row may be short.
func plausibleBMP(h Header, depth, compression, left int) bool {
	if compression != 0 && compression != 3 || !SideFits(h.Width) || !SideFits(h.Height) {
		return true
	}
	row := (h.Width*depth + 31) / 32 * 4
	return left >= row*(h.Height-1)
}

func abs(n int) int { return max(n, -n) }
