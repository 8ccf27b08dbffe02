// Package picture reads the images inside a request body: their data URIs, and only the headers of the images. It decodes no
// pixels, keeps no copy and allocates little, whatever the size of the image.
//
// It reports format and size of an image. The rules of package policy decide whether the service accepts it.
package picture

import "sluice/policy/strictjson"

// Header recognizes the format by the first bytes of the data and reads its header.
func (u DataURI) Header() Header { return readHeader(openWindow(u)) }

func readHeader(w *window) Header {
	magic := w.look(0, 12)
	switch {
	case magic == nil:
		return Header{}
	case string(magic[:8]) == "\x89PNG\r\n\x1a\n":
		return readPNG(w)
	case string(magic[:3]) == "\xff\xd8\xff":
		return readJPEG(w)
	case string(magic[:2]) == "BM":
		return readBMP(w)
	case string(magic[:4]) == "RIFF" && string(magic[8:]) == "WEBP":
		return readWebP(w)
	}
	return Header{}
}

// Header holds the facts in the header of an image.
type Header struct {
	Format        string // png, jpeg, bmp or webp; empty when the bytes are none of them
	Width, Height int    // in pixels
	Alpha         bool   // a PNG colour type with an alpha channel
	Clear         bool   // transparent in another way: PNG tRNS, WebP alpha
	Animated      bool   // more than one frame
	Broken        string // why the header is invalid, in words; empty when it is valid
}

// Reasons why a header is invalid.
const (
	tooShort  = "a header that is cut off"
	malformed = "a malformed header"
	tooLong   = "a header that is too long"
)

// SideFits reports whether the service accepts a side of n pixels (interface.md, Limits).
func SideFits(n int) bool { return n >= 240 && n <= 8000 }

// window shows the bytes of an image inside a data URI, a few at a time and only forward. It decodes only the base64 of
// the bytes that it shows.
type window struct {
	text   strictjson.Cursor // before the first symbol of the last quantum looked at
	at     int               // bytes of the image before that symbol; a multiple of 3
	size   int               // bytes of the image
	budget int               // bytes that may still be looked at
	buf    [maxLook + 4]byte
}

const (
	maxLook    = 32      // bytes in one look
	lookBudget = 8 << 10 // bytes in all looks at one image: enough for a thousand chunks or segments
)

func openWindow(u DataURI) *window {
	return &window{text: u.data, size: u.Size, budget: lookBudget}
}

// look returns n bytes from offset on; nil if the image ends before, or the budget is used up. An offset must not be less
// than the last one rounded down to a multiple of 3. The bytes are valid until the next look.
func (w *window) look(offset, n int) []byte {
	if offset < w.at || offset > w.size-n || w.budget < n {
		return nil
	}
	w.budget -= n
	quantum := offset / 3 * 3
	w.text.Skip((quantum - w.at) / 3 * 4)
	w.at = quantum
	symbols := w.text // a copy: the next look may need the same quantum
	for i := 0; quantum+i < offset+n; i += 3 {
		var bits uint32
		for range 4 {
			b, _ := symbols.Next()
			bits = bits<<6 | uint32(base64Value[b]&63) // the padding reads as zeros
		}
		w.buf[i], w.buf[i+1], w.buf[i+2] = byte(bits>>16), byte(bits>>8), byte(bits)
	}
	return w.buf[offset-quantum : offset-quantum+n]
}
