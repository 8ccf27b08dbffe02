// Package picture draws pictures, and reads the sizes of pictures from requests and from the heads of image files.
package picture

import (
	"math"
	"strconv"
	"strings"
)

// Size is a picture's width and height in pixels.
type Size struct{ W, H int }

// unknownSize stands for a picture that the simulator does not fetch.
var unknownSize = Size{1024, 1024}

// Pixels of an image by the rules of sizes.
const (
	LeastArea  = 768 * 768
	MediumArea = 1280 * 1280
	LargeArea  = 2048 * 2048
)

// String is the form of the wire, width*height.
func (s Size) String() string {
	return strconv.Itoa(s.W) + "*" + strconv.Itoa(s.H)
}

func (s Size) Pixels() int {
	return s.W * s.H
}

// ParseSize reads width*height in plain positive decimals.
func ParseSize(text string) (Size, bool) {
	ws, hs, _ := strings.Cut(text, "*")
	w, ok1 := parseSide(ws)
	h, ok2 := parseSide(hs)
	return Size{w, h}, ok1 && ok2
}

// parseSide reads 1 to 99999 without a sign or a leading zero.
func parseSide(text string) (int, bool) {
	if len(text) == 0 || len(text) > 5 || text[0] < '1' || text[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// area returns about so many pixels in the proportions of s, in whole steps.
func (s Size) area(pixels, step int) Size {
	ratio := float64(s.W) / float64(s.H)
	return Size{
		roundTo(math.Sqrt(float64(pixels)*ratio), step),
		roundTo(math.Sqrt(float64(pixels)/ratio), step),
	}
}

// Fit returns s in whole steps, scaled where it has too few or too many pixels.
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

// DefaultSize is the size of images whose request does not say how large.
var DefaultSize = Size{1024, 1024}

// SizeOr is the size that text asks for, or absent.
func SizeOr(text string, absent Size) Size {
	if sz, ok := ParseSize(text); ok {
		return sz
	}
	return absent
}

// EditSize is the size of an edited or interleaved image: as asked for, or in the proportions of the last input image.
func EditSize(text string, images []string, interleaved bool) Size {
	if sz, ok := ParseSize(text); ok {
		return sz.steps(16)
	}
	model := Size{1280, 1280}
	if len(images) > 0 {
		model = DataSize(images[len(images)-1])
	}
	switch {
	case interleaved && model.Pixels() <= MediumArea:
		return model
	case text == "2K":
		return model.area(LargeArea, 16)
	}
	return model.area(MediumArea, 16)
}
