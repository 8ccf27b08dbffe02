package picture

import (
	"image"
	"image/color"
	"testing"
)

func TestPictureIsBounded(t *testing.T) {
	for _, sz := range []Size{{99999, 99999}, {99999, 1}, {1, 99999}, {1, 1}} {
		if b := Paint(0, sz, "").Bounds(); b.Empty() || b.Dx() > maxDrawnSide || b.Dx()*b.Dy() > maxDrawnPixels {
			t.Errorf("%v is drawn as %v", sz, b)
		}
	}
}

func TestPictureIsWorthLookingAt(t *testing.T) {
	colours := map[color.Color]bool{}
	img := Paint(7, Size{200, 200}, "")
	for i := range 200 * 200 {
		colours[img.At(i%200, i/200)] = true
	}
	if len(colours) < 100 {
		t.Errorf("only %d colours", len(colours))
	}
}

// The mark is white and in the bottom right corner, if there is room.
func TestStamp(t *testing.T) {
	for _, side := range []int{1, 10, 320, 1280} {
		img := image.NewRGBA(image.Rect(0, 0, side, side))
		stamp(img, "AI Generated")
		white, outside := 0, 0
		for i := range side * side {
			if x, y := i%side, i/side; img.RGBAAt(x, y).R == 255 {
				if white++; side >= 320 && (x < side/2 || y < side*9/10) {
					outside++
				}
			}
		}
		if side >= 320 && white == 0 || outside > 0 {
			t.Errorf("side %d: %d white pixels, %d of them not in the bottom right corner", side, white, outside)
		}
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
