package picture

// Header holds the facts in the header of an image.
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

// SideFits reports whether the service takes a side of n pixels (interface.md, Limits).
func SideFits(n int) bool { return n >= 240 && n <= 8000 }
