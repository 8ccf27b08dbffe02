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
