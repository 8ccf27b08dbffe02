package policy

// The bounds of an output size (interface.md, "Size rules"), in pixels.
const (
	minArea           = 768 * 768
	maxArea           = 2048 * 2048
	maxAreaInterleave = 1280 * 1280
	maxAspect         = 4  // the longer side over the shorter
	sizeStep          = 16 // what the service rounds sides to
)

// size is the value of parameters.size: width*height, or one of the classes 1K and 2K.
type size struct {
	width, height int64 // at most maxSide; 0 for a class
}

// maxSide is read in place of any larger side. It is out of every range, and the product of two does not overflow.
const maxSide = 1 << 30

// parseSize reads a size: two numbers with a star between them, in decimal digits without sign, space or leading zero; or
// 1K or 2K.
func parseSize(s string) (size, bool) {
	if s == "1K" || s == "2K" {
		return size{}, true
	}
	width, n := parseSide(s)
	if n == 0 || n == len(s) || s[n] != '*' {
		return size{}, false
	}
	height, m := parseSide(s[n+1:])
	return size{width, height}, m > 0 && n+1+m == len(s)
}

// parseSide reads the number at the start of s and the bytes that it takes, 0 and 0 if there is none.
func parseSide(s string) (side int64, n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		if side == 0 && n > 0 { // a leading zero
			return 0, 0
		}
		side = min(side*10+int64(s[n]-'0'), maxSide)
		n++
	}
	if side == 0 {
		return 0, 0
	}
	return side, n
}

// class reports whether the size is 1K or 2K, whose sides the service chooses.
func (s size) class() bool { return s.width == 0 }

func (s size) area() int64 { return s.width * s.height }

// inAspect reports whether the aspect ratio is from 1:4 to 4:1.
func (s size) inAspect() bool { return s.width <= maxAspect*s.height && s.height <= maxAspect*s.width }

// inSteps reports whether both sides are multiples of 16.
func (s size) inSteps() bool { return s.width%sizeStep == 0 && s.height%sizeStep == 0 }
