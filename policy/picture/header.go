// Package picture reads the images inside a request body: their data URIs, and from the images the header alone. It
// decodes no pixels, keeps no copy and allocates little, whatever the size of the image.
//
// It says what an image is. Whether the service takes such an image is for the rules of package policy.
package picture

// Header is what the header of an image says.
type Header struct {
	Format        string // png, jpeg, bmp or webp; empty when the bytes are none of them
	Width, Height int    // in pixels
	Alpha         bool   // a PNG colour type with an alpha channel
	Clear         bool   // transparent in another way: PNG tRNS, WebP alpha
	Animated      bool   // more than one frame
	Broken        string // why the header cannot be believed, in words; empty when it can
}

// Reasons why a header cannot be believed.
const (
	tooShort  = "a header that is cut off"
	malformed = "a malformed header"
	tooLong   = "a header that is too long"
)

// The sides of an image that the service takes, in pixels (interface.md, Limits).
const (
	MinSide = 240
	MaxSide = 8000
)

// SideFits reports whether the service takes a side of so many pixels.
func SideFits(n int) bool { return n >= MinSide && n <= MaxSide }

// Header tells the format by the first bytes of the data and reads its header.
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
