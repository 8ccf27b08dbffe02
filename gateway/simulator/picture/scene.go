package picture

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
)

// Bounds of a picture that is really drawn, whatever size was asked for.
const (
	maxDrawnSide   = 4096
	maxDrawnPixels = 16 << 20
)

// Paint draws a shore: a sky with a sun or moon over waves that get darker towards the viewer. mark is written into the
// bottom right corner.
func Paint(seed uint64, s Size, mark string) image.Image {
	w, h := min(s.W, maxDrawnSide), min(s.H, maxDrawnSide)
	h = max(1, min(h, maxDrawnPixels/w))
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	sc := newScene(seed, w, h)
	for y := range h {
		for x := range w {
			img.SetRGBA(x, y, sc.at(x, y))
		}
	}
	stamp(img, mark)
	return img
}

// scene is what a seed looks like.
type scene struct {
	high, low      color.RGBA // of the sky
	sun            color.RGBA
	sunX, sunY     float64
	radius, height float64
	waves          []wave
}

// wave is one band of water: everything below its line.
type wave struct {
	line   []float64 // by column
	colour color.RGBA
}

func newScene(seed uint64, w, h int) scene {
	d := rand.New(rand.NewPCG(seed, 0))
	hue := float64(d.IntN(360))
	sc := scene{
		high: hsl(hue, .55, .35), low: hsl(hue+35+float64(d.IntN(40)), .75, .78), sun: hsl(hue+50, .9, .93),
		sunX: float64(w) * (.2 + .6*float64(d.IntN(100))/100), sunY: float64(h) * (.15 + .25*float64(d.IntN(100))/100),
		radius: float64(min(w, h)) * (.06 + .06*float64(d.IntN(100))/100), height: float64(h),
	}
	count := 4 + d.IntN(4)
	for i := range count {
		depth := float64(i) / float64(count)
		level := float64(h) * (.52 + .48*depth)
		swell := float64(h) * (.008 + .03*depth)
		length := float64(w) * (.15 + .4*depth + .1*float64(d.IntN(100))/100)
		phase := float64(d.IntN(628)) / 100
		line := make([]float64, w)
		for x := range line {
			t := 2*math.Pi*float64(x)/length + phase
			line[x] = level + swell*(math.Sin(t)+.4*math.Sin(2.3*t+phase))
		}
		sc.waves = append(sc.waves, wave{line, hsl(hue+170-30*depth, .5, .55-.38*depth)})
	}
	return sc
}

// at is the colour of one pixel.
func (sc *scene) at(x, y int) color.RGBA {
	fy := float64(y)
	for i := len(sc.waves) - 1; i >= 0; i-- {
		if fy >= sc.waves[i].line[x] {
			// A pale crest sets each wave off from the one behind.
			crest := 1 - (fy-sc.waves[i].line[x])/(sc.height*.02)
			return blend(sc.waves[i].colour, sc.sun, .35*max(0, crest))
		}
	}
	sky := blend(sc.high, sc.low, fy/(sc.height*.55))
	far := math.Hypot(float64(x)-sc.sunX, fy-sc.sunY) / sc.radius
	if far <= 1 {
		return sc.sun
	}
	return blend(sky, sc.sun, .6/(far*far))
}

// blend mixes t parts of b into a.
func blend(a, b color.RGBA, t float64) color.RGBA {
	t = min(max(t, 0), 1)
	mix := func(p, q uint8) uint8 { return uint8(float64(p) + t*(float64(q)-float64(p)) + .5) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// hsl converts a hue in degrees, saturation and lightness.
func hsl(h, s, l float64) color.RGBA {
	amplitude := s * min(l, 1-l)
	channel := func(n float64) uint8 {
		k := math.Mod(n+h/30, 12)
		return uint8(255*(l-amplitude*max(-1, min(k-3, 9-k, 1))) + .5)
	}
	return color.RGBA{channel(0), channel(8), channel(4), 255}
}
