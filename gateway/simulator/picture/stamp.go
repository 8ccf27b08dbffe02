package picture

import (
	"image"
	"image/color"
)

// glyphs are the letters of the watermark, seven rows of five pixels each, the leftmost pixel in the highest bit.
var glyphs = map[rune][7]uint8{
	'A': {0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11},
	'I': {0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e},
	'G': {0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f},
	'e': {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e},
	'n': {0x00, 0x00, 0x16, 0x19, 0x11, 0x11, 0x11},
	'r': {0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10},
	'a': {0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f},
	't': {0x08, 0x08, 0x1c, 0x08, 0x08, 0x09, 0x06},
	'd': {0x01, 0x01, 0x0d, 0x13, 0x11, 0x11, 0x0f},
}

// stamp writes text in white into the bottom right corner.
func stamp(img *image.RGBA, text string) {
	b := img.Bounds()
	dot := max(1, b.Dx()/320) // the text takes about a quarter of the width
	left, top := b.Dx()-dot*(6*len(text)+3), b.Dy()-dot*10
	for i, r := range text {
		for y, row := range glyphs[r] {
			for x := range 5 {
				if row&(0x10>>x) != 0 {
					fill(img, left+dot*(6*i+x), top+dot*y, dot)
				}
			}
		}
	}
}

// fill paints a square; what lies outside the picture is dropped.
func fill(img *image.RGBA, x, y, side int) {
	for dy := range side {
		for dx := range side {
			if (image.Point{X: x + dx, Y: y + dy}).In(img.Bounds()) {
				img.SetRGBA(x+dx, y+dy, color.RGBA{255, 255, 255, 255})
			}
		}
	}
}
