package picture

import (
	"image"
	"testing"
)

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
