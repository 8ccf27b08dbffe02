// Package picture draws pictures, and reads the sizes of pictures from requests and from the heads of image files.
package picture

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Size is a picture's width and height in pixels.
type Size struct{ W, H int }

// DefaultSize is the size of a picture if the request has none, or the input picture is not fetched.
var DefaultSize = Size{1024, 1024}

// Areas in the rules of sizes, in pixels.
const (
	LeastArea  = 768 * 768
	MediumArea = 1280 * 1280
	LargeArea  = 2048 * 2048
)

// String returns the form on the wire, width*height.
func (s Size) String() string { return fmt.Sprintf("%d*%d", s.W, s.H) }

// Pixels returns the size's area.
func (s Size) Pixels() int { return s.W * s.H }

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,4})\*([1-9][0-9]{0,4})$`)

// ParseSize parses width*height, positive decimal numbers up to 99999.
func ParseSize(text string) (Size, bool) {
	sides := sizeForm.FindStringSubmatch(text)
	if sides == nil {
		return Size{}, false
	}
	w, _ := strconv.Atoi(sides[1])
	h, _ := strconv.Atoi(sides[2])
	return Size{w, h}, true
}

// area returns a size of about this many pixels in the proportions of s, in whole steps.
func (s Size) area(pixels, step int) Size {
	ratio := float64(s.W) / float64(s.H)
	return Size{
		roundTo(math.Sqrt(float64(pixels)*ratio), step),
		roundTo(math.Sqrt(float64(pixels)/ratio), step),
	}
}

// Fit returns s in whole steps, scaled if it has too few or too many pixels.
func (s Size) Fit(least, most, step int) Size {
	switch p := s.Pixels(); {
	case p < least:
		return s.area(least, step)
	case p > most:
		return s.area(most, step)
	}
	return s.steps(step)
}

// steps rounds both sides to whole steps.
func (s Size) steps(step int) Size {
	return Size{roundTo(float64(s.W), step), roundTo(float64(s.H), step)}
}

func roundTo(x float64, step int) int {
	return max(step, int(math.Round(x/float64(step)))*step)
}

// SizeOfText returns the size in text, or DefaultSize.
func SizeOfText(text string) Size {
	if size, ok := ParseSize(text); ok {
		return size
	}
	return DefaultSize
}

// SizeOfEdit returns the size of an edited or interleaved image: the size in text, or one in the proportions of the last input image.
func SizeOfEdit(text string, images []string, interleaved bool) Size {
	if size, ok := ParseSize(text); ok {
		return size.steps(16)
	}
	like := Size{1280, 1280}
	if len(images) > 0 {
		like = SizeOfData(images[len(images)-1])
	}
	switch {
	case interleaved && like.Pixels() <= MediumArea:
		return like
	case text == "2K":
		return like.area(LargeArea, 16)
	}
	return like.area(MediumArea, 16)
}
