package picture

import (
	"image/color"
	"testing"
)

func TestPictureIsBounded(t *testing.T) {
	if b := Paint(0, Size{99999, 99999}, "").Bounds(); b.Dx() > maxDrawnSide || b.Dx()*b.Dy() > maxDrawnPixels {
		t.Errorf("drawn as %v", b)
	}
	for _, sz := range []Size{{99999, 1}, {1, 99999}, {1, 1}} {
		if b := Paint(0, sz, "").Bounds(); b.Empty() {
			t.Errorf("%v is drawn as %v", sz, b)
		}
	}
}

func TestPictureIsWorthLookingAt(t *testing.T) {
	colours := map[color.Color]bool{}
	img := Paint(7, Size{200, 200}, "")
	for y := range 200 {
		for x := range 200 {
			colours[img.At(x, y)] = true
		}
	}
	if len(colours) < 100 {
		t.Errorf("only %d colours", len(colours))
	}
}

func BenchmarkPicture(b *testing.B) {
	for _, sz := range []Size{{1024, 1024}, {2048, 2048}} {
		b.Run(sz.String(), func(b *testing.B) {
			for b.Loop() {
				Paint(1, sz, "")
			}
		})
	}
}
