package picture

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
)

// Bounds of a drawn picture, also if a larger size was requested.
const (
	maxDrawnSide   = 4096
	maxDrawnPixels = 16 << 20
)

// Paint draws a shore: a sky with a sun over waves that get darker towards the viewer. mark is written into the bottom
// right corner.
func Paint(seed uint64, s Size, mark string) image.Image {
	w := min(s.W, maxDrawnSide)
	h := max(1, min(s.H, maxDrawnSide, maxDrawnPixels/w))
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	d := rand.New(rand.NewPCG(seed, 0))
	hue, sunX, sunY := 360*d.Float64(), .2+.6*d.Float64(), .15+.25*d.Float64()
	high, low, sun := hsl(hue, .55, .35), hsl(hue+50, .75, .78), hsl(hue+50, .9, .93)
	for y := range h {
		row := blend(high, low, float64(y)/float64(h)/.55)
		for x := range w {
			far := math.Hypot(float64(x)-sunX*float64(w), float64(y)-sunY*float64(h)) / (.09 * float64(min(w, h)))
			img.SetRGBA(x, y, blend(row, sun, .6/max(far*far, .6)))
		}
	}
	const waves = 6
	for i := range waves {
		depth := float64(i) / waves // 0 is the furthest wave
		length, phase := .15+.4*depth+.1*d.Float64(), 2*math.Pi*d.Float64()
		water := hsl(hue+170-30*depth, .5, .55-.38*depth)
		for x := range w {
			t := 2*math.Pi*float64(x)/float64(w)/length + phase
			line := .52 + .48*depth + (.008+.03*depth)*(math.Sin(t)+.4*math.Sin(2.3*t))
			for y := max(0, int(line*float64(h))); y < h; y++ {
				// A pale crest sets each wave off from the one behind.
				img.SetRGBA(x, y, blend(water, sun, .35*(1-50*(float64(y)/float64(h)-line))))
			}
		}
	}
	stamp(img, mark)
	return img
}

// blend mixes t parts of b into a; t is clamped to the range from 0 to 1.
func blend(a, b color.RGBA, t float64) color.RGBA {
	t = min(max(t, 0), 1)
	mix := func(p, q uint8) uint8 { return uint8(float64(p) + t*(float64(q)-float64(p)) + .5) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// hsl converts a hue in degrees, saturation and lightness.
func hsl(h, s, l float64) color.RGBA {
	channel := func(n float64) uint8 {
		k := math.Mod(n+h/30, 12)
		return uint8(255*(l-s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1))) + .5)
	}
	return color.RGBA{channel(0), channel(8), channel(4), 255}
}
