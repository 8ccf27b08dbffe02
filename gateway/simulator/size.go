package simulator

import (
	"math"
	"strconv"
	"strings"
)

// size is a picture's width and height in pixels.
type size struct{ w, h int }

// unknownSize stands for a picture that the simulator does not fetch.
var unknownSize = size{1024, 1024}

// Pixels of an image by the rules of sizes.
const (
	leastArea  = 768 * 768
	mediumArea = 1280 * 1280
	largeArea  = 2048 * 2048
)

// String is the form of the wire, width*height.
func (s size) String() string {
	return strconv.Itoa(s.w) + "*" + strconv.Itoa(s.h)
}

func (s size) pixels() int {
	return s.w * s.h
}

// parseSize reads width*height in plain positive decimals.
func parseSize(text string) (size, bool) {
	ws, hs, _ := strings.Cut(text, "*")
	w, ok1 := parseSide(ws)
	h, ok2 := parseSide(hs)
	return size{w, h}, ok1 && ok2
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
func (s size) area(pixels, step int) size {
	ratio := float64(s.w) / float64(s.h)
	return size{
		roundTo(math.Sqrt(float64(pixels)*ratio), step),
		roundTo(math.Sqrt(float64(pixels)/ratio), step),
	}
}

// fit returns s in whole steps, scaled where it has too few or too many
// pixels.
func (s size) fit(least, most, step int) size {
	switch p := s.pixels(); {
	case p < least:
		return s.area(least, step)
	case p > most:
		return s.area(most, step)
	}
	return s.steps(step)
}

// steps rounds both sides to whole steps.
func (s size) steps(step int) size {
	return size{roundTo(float64(s.w), step), roundTo(float64(s.h), step)}
}

func roundTo(x float64, step int) int {
	return max(step, int(math.Round(x/float64(step)))*step)
}

// defaultSize is the size of images whose request does not say how large.
var defaultSize = size{1024, 1024}

// sizeOr is the size that text asks for, or absent.
func sizeOr(text string, absent size) size {
	if sz, ok := parseSize(text); ok {
		return sz
	}
	return absent
}

// editSize is the size of an edited or interleaved image: as asked for, or in
// the proportions of the last input image.
func editSize(text string, images []string, interleaved bool) size {
	if sz, ok := parseSize(text); ok {
		return sz.steps(16)
	}
	model := size{1280, 1280}
	if len(images) > 0 {
		model = dataSize(images[len(images)-1])
	}
	switch {
	case interleaved && model.pixels() <= mediumArea:
		return model
	case text == "2K":
		return model.area(largeArea, 16)
	}
	return model.area(mediumArea, 16)
}
