package picture

import (
	"image"
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

func TestStamp(t *testing.T) {
	for _, side := range []int{1, 10, 320, 1280} {
		img := image.NewRGBA(image.Rect(0, 0, side, side))
		stamp(img, "AI Generated")
		white, outside := 0, 0
		for y := range side {
			for x := range side {
				if img.RGBAAt(x, y).R == 255 {
					white++
					if side >= 320 && (x < side/2 || y < side*9/10) {
						outside++
					}
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
