package picture

import "encoding/binary"

// maxJPEGHeader is how far into a JPEG its frame header may be. Before it are thumbnails, colour profiles and notes of
// cameras.
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
		case marker[1] == 0xD9 || marker[1] == 0xDA: // the image ends, or its pixels begin, and no frame came
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

// isFrame reports whether a marker opens a frame header: SOF0 to SOF15 without DHT, JPG and DAC, which are among them.
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
