package policy_test

import (
	"slices"
	"testing"
)

// repeat is the same segment so many times.
func repeat(n int, s []byte) [][]byte { return slices.Repeat([][]byte{s}, n) }

func TestPNG(t *testing.T) {
	broken := pngHeader(800, 600, 2)
	broken[11] = 12
	testFiles(t, []imageFile{
		{"A108 grey", "image/png", pngHeader(800, 600, 0), ""},
		{"A108 colours", "image/png", pngHeader(800, 600, 2), ""},
		{"A108 palette", "image/png", pngHeader(800, 600, 3, "PLTE"), ""},
		{"A108 grey with alpha", "image/png", pngHeader(800, 600, 4), "image.image.alpha"},
		{"A108 colours with alpha", "image/png", pngHeader(800, 600, 6), "image.image.alpha"},
		{"A108 colour type that is none", "image/png", pngHeader(800, 600, 5), "image.image.header"},
		{"A109 tRNS on grey", "image/png", pngHeader(800, 600, 0, "tRNS"), "image.image.transparency?"},
		{"A109 tRNS on colours", "image/png", pngHeader(800, 600, 2, "gAMA", "tRNS"), "image.image.transparency?"},
		{"A109 tRNS on a palette", "image/png", pngHeader(800, 600, 3, "PLTE", "tRNS"), "image.image.transparency?"},
		{"A109 tRNS behind the pixels", "image/png", pngHeader(800, 600, 3, "PLTE", "IDAT", "tRNS"), ""},
		{"animated", "image/png", pngHeader(800, 600, 2, "acTL"), "image.image.animation"},
		{"IHDR of another length", "image/png", broken, "image.image.header"},
		{"cut off in IHDR", "image/png", pngHeader(800, 600, 2)[:20], "image.image.header"},
		{"cut off behind IHDR", "image/png", pngHeader(800, 600, 2)[:33], "image.image.header"},
		{"500 chunks", "image/png", pngHeader(800, 600, 2, slices.Repeat([]string{"tEXt"}, 500)...), ""},
		{"5,000 chunks", "image/png", pngHeader(800, 600, 2, slices.Repeat([]string{"tEXt"}, 5000)...), "image.image.header"},
	})
}

func TestJPEG(t *testing.T) {
	app := segment(0xE2, make([]byte, 65000)...)
	twice := append(jpegHeader(800, 600, 0xC0), jpegHeader(1, 1, 0xC0)[2:]...)
	testFiles(t, []imageFile{
		{"A112 baseline", "image/jpeg", jpegHeader(800, 600, 0xC0), ""},
		{"A112 progressive", "image/jpeg", jpegHeader(800, 600, 0xC2), ""},
		{"A112 EXIF, rotated", "image/jpeg", jpegHeader(800, 600, 0xC0, segment(0xE1, []byte("Exif\x00\x00MM\x00*")...)), ""},
		{"A112 first of several frames", "image/jpeg", twice, ""},
		{"A112 tables before the frame", "image/jpeg", jpegHeader(800, 600, 0xC1, segment(0xC4, 1, 2), segment(0xDB, 3)), ""},
		{"A112 fill and stray bytes", "image/jpeg", jpegHeader(800, 600, 0xC0, []byte{0xFF, 0xFF, 0xFF}, segment(0xE0, 1), []byte{0, 7, 0xFF, 0}), ""},
		{"A112 frame within 1 MiB", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(16, app)...), ""},
		{"A112 frame behind 1 MiB", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(17, app)...), "image.image.header"},
		{"A112 frame behind 9 MiB", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(150, app)...), "image.image.header"},
		{"A112 5,000 segments", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(5000, segment(0xFE))...), "image.image.header"},
		{"A112 no frame", "image/jpeg", append([]byte{0xFF, 0xD8}, segment(0xDA, make([]byte, 20)...)...), "image.image.header"},
		{"A112 no frame, no end", "image/jpeg", append([]byte{0xFF, 0xD8}, segment(0xE0, make([]byte, 20)...)...), "image.image.header"},
		{"A112 frame cut off", "image/jpeg", jpegHeader(800, 600, 0xC0)[:24], "image.image.header"},
		{"A112 height given later", "image/jpeg", jpegHeader(800, 0, 0xC0), "image.image.sides"},
	})
}

func TestBMP(t *testing.T) {
	patch := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	os2 := append([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x1a\x00\x00\x00\x0c\x00\x00\x00\xf0\x00\xf0\x00\x01\x00\x08\x00"), make([]byte, 240*240)...)
	testFiles(t, []imageFile{
		{"A114 32 bits", "image/bmp", bmpFile(240, 240, 32), ""},
		{"A114 24 bits", "image/bmp", bmpFile(241, 240, 24), ""},
		{"A114 1 bit", "image/bmp", bmpFile(8000, 240, 1), ""},
		{"A114 run lengths", "image/bmp", patch(bmpFile(240, 240, 8), 30, 1)[:3000], ""},
		{"A114 OS/2", "image/bmp", os2, ""},
		{"A114 top down", "image/bmp", bmpFile(240, -240, 8), ""},
		{"A114 other name of the type", "image/x-ms-bmp", bmpFile(240, 240, 8), ""},
		{"A114 last row short", "image/bmp", bmpFile(240, 240, 8)[:54+240*240-3], ""},
		{"A114 fewer bytes than pixels", "image/bmp", bmpFile(240, 240, 8)[:54+240*100], "image.image.header"},
		{"A114 header of no known length", "image/bmp", patch(bmpFile(240, 240, 8), 14, 13), "image.image.header"},
		{"A114 cut off", "image/bmp", bmpFile(240, 240, 8)[:20], "image.image.header"},
		{"A114 too high, top down", "image/bmp", bmpFile(240, -8001, 1), "image.image.sides"},
		{"A114 negative width", "image/bmp", patch(bmpFile(240, 240, 8), 21, 0xFF), "image.image.sides"},
	})
}

func TestWebP(t *testing.T) {
	wrong := riff(vp8(800, 600))
	wrong[5] = 0xFF
	padded := riff(vp8l(800, 600, 0))
	testFiles(t, []imageFile{
		{"A113 lossy", "image/webp", riff(vp8(800, 600)), ""},
		{"A113 lossless", "image/webp", riff(vp8l(800, 600, 0)), ""},
		{"A113 lossless with alpha", "image/webp", riff(vp8l(800, 600, 1)), "image.image.transparency?"},
		{"A113 extended", "image/webp", riff(vp8x(800, 600, 0), vp8(800, 600)), ""},
		{"A113 extended, colour profile", "image/webp", riff(vp8x(800, 600, 0x20), chunk("ICCP", 1, 2, 3), vp8(800, 600)), ""},
		{"A113 extended with alpha", "image/webp", riff(vp8x(800, 600, 0x10), chunk("ALPH", 1), vp8(800, 600)), "image.image.transparency?"},
		{"A113 animated", "image/webp", riff(vp8x(800, 600, 0x02), chunk("ANIM", 0, 0, 0, 0, 0, 0)), "image.image.animation"},
		{"A113 animated without the flag", "image/webp", riff(vp8x(800, 600, 0), chunk("ANIM", 0, 0, 0, 0, 0, 0)), "image.image.animation"},
		{"A113 canvas is not the frame", "image/webp", riff(vp8x(800, 600, 0), vp8(8, 6)), "image.image.header"},
		{"A113 canvas without a frame", "image/webp", riff(vp8x(800, 600, 0)), "image.image.header"},
		{"A113 more than there is", "image/webp", wrong, "image.image.header"},
		{"A113 last padding missing", "image/webp", padded[:len(padded)-1], ""},
		{"A113 bytes behind", "image/webp", append(riff(vp8(800, 600)), 0, 0, 0), ""},
		{"A113 28 bytes, 16384²", "image/webp", riff(vp8l(16384, 16384, 0)), "image.image.sides"},
		{"A113 no key frame", "image/webp", riff(chunk("VP8 ", 1, 0, 0, 0x9d, 1, 0x2a, 0x20, 3, 0x58, 2)), "image.image.header"},
		{"A113 wrong signature", "image/webp", riff(chunk("VP8L", 0x2e, 0, 0, 0, 0)), "image.image.header"},
		{"A113 unknown chunk first", "image/webp", riff(chunk("XXXX", 0x2e, 0, 0, 0, 0)), "image.image.header"},
		{"A113 nothing in it", "image/webp", riff(), "image.image.header"},
	})
}
