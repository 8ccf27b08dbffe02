package policy_test

import (
	"slices"
	"testing"
)

// repeat returns a segment n times.
func repeat(n int, s []byte) [][]byte { return slices.Repeat([][]byte{s}, n) }

func TestPNG(t *testing.T) {
	broken := pngHeader(800, 600, 2)
	broken[11] = 12
	testFiles(t, []imageFile{
		{"grey", "image/png", pngHeader(800, 600, 0), ""},
		{"colours", "image/png", pngHeader(800, 600, 2), ""},
		{"palette", "image/png", pngHeader(800, 600, 3, "PLTE"), ""},
		{"grey with alpha", "image/png", pngHeader(800, 600, 4), "image.image.alpha"},
		{"colours with alpha", "image/png", pngHeader(800, 600, 6), "image.image.alpha"},
		{"colour type that is none", "image/png", pngHeader(800, 600, 5), "image.image.header"},
		{"tRNS on grey", "image/png", pngHeader(800, 600, 0, "tRNS"), "image.image.transparency?"},
		{"tRNS on colours", "image/png", pngHeader(800, 600, 2, "gAMA", "tRNS"), "image.image.transparency?"},
		{"tRNS on a palette", "image/png", pngHeader(800, 600, 3, "PLTE", "tRNS"), "image.image.transparency?"},
		{"tRNS behind the pixels", "image/png", pngHeader(800, 600, 3, "PLTE", "IDAT", "tRNS"), ""},
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
		{"baseline", "image/jpeg", jpegHeader(800, 600, 0xC0), ""},
		{"progressive", "image/jpeg", jpegHeader(800, 600, 0xC2), ""},
		{"EXIF, rotated", "image/jpeg", jpegHeader(800, 600, 0xC0, segment(0xE1, []byte("Exif\x00\x00MM\x00*")...)), ""},
		{"first of several frames", "image/jpeg", twice, ""},
		{"tables before the frame", "image/jpeg", jpegHeader(800, 600, 0xC1, segment(0xC4, 1, 2), segment(0xDB, 3)), ""},
		{"fill and stray bytes", "image/jpeg", jpegHeader(800, 600, 0xC0, []byte{0xFF, 0xFF, 0xFF}, segment(0xE0, 1), []byte{0, 7, 0xFF, 0}), ""},
		{"frame within 1 MiB", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(16, app)...), ""},
		{"frame behind 1 MiB", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(17, app)...), "image.image.header"},
		{"frame behind 9 MiB", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(150, app)...), "image.image.header"},
		{"5,000 segments", "image/jpeg", jpegHeader(800, 600, 0xC0, repeat(5000, segment(0xFE))...), "image.image.header"},
		{"no frame", "image/jpeg", append([]byte{0xFF, 0xD8}, segment(0xDA, make([]byte, 20)...)...), "image.image.header"},
		{"no frame, no end", "image/jpeg", append([]byte{0xFF, 0xD8}, segment(0xE0, make([]byte, 20)...)...), "image.image.header"},
		{"frame cut off", "image/jpeg", jpegHeader(800, 600, 0xC0)[:24], "image.image.header"},
		{"height given later", "image/jpeg", jpegHeader(800, 0, 0xC0), "image.image.sides"},
	})
}

func TestBMP(t *testing.T) {
	patch := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	os2 := append([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x1a\x00\x00\x00\x0c\x00\x00\x00\xf0\x00\xf0\x00\x01\x00\x08\x00"),
		make([]byte, 240*240)...)
	testFiles(t, []imageFile{
		{"32 bits", "image/bmp", bmpFile(240, 240, 32), ""},
		{"24 bits", "image/bmp", bmpFile(241, 240, 24), ""},
		{"1 bit", "image/bmp", bmpFile(8000, 240, 1), ""},
		{"run lengths", "image/bmp", patch(bmpFile(240, 240, 8), 30, 1)[:3000], ""},
		{"OS/2", "image/bmp", os2, ""},
		{"top down", "image/bmp", bmpFile(240, -240, 8), ""},
		{"other name of the type", "image/x-ms-bmp", bmpFile(240, 240, 8), ""},
		{"last row short", "image/bmp", bmpFile(240, 240, 8)[:54+240*240-3], ""},
		{"fewer bytes than pixels", "image/bmp", bmpFile(240, 240, 8)[:54+240*100], "image.image.header"},
		{"header of no known length", "image/bmp", patch(bmpFile(240, 240, 8), 14, 13), "image.image.header"},
		{"cut off", "image/bmp", bmpFile(240, 240, 8)[:20], "image.image.header"},
		{"too high, top down", "image/bmp", bmpFile(240, -8001, 1), "image.image.sides"},
		{"negative width", "image/bmp", patch(bmpFile(240, 240, 8), 21, 0xFF), "image.image.sides"},
	})
}

func TestWebP(t *testing.T) {
	wrong := riff(vp8(800, 600))
	wrong[5] = 0xFF
	padded := riff(vp8l(800, 600, 0))
	testFiles(t, []imageFile{
		{"lossy", "image/webp", riff(vp8(800, 600)), ""},
		{"lossless", "image/webp", riff(vp8l(800, 600, 0)), ""},
		{"lossless with alpha", "image/webp", riff(vp8l(800, 600, 1)), "image.image.transparency?"},
		{"extended", "image/webp", riff(vp8x(800, 600, 0), vp8(800, 600)), ""},
		{"extended, colour profile", "image/webp", riff(vp8x(800, 600, 0x20), chunk("ICCP", 1, 2, 3), vp8(800, 600)), ""},
		{"extended with alpha", "image/webp", riff(vp8x(800, 600, 0x10), chunk("ALPH", 1), vp8(800, 600)), "image.image.transparency?"},
		{"animated", "image/webp", riff(vp8x(800, 600, 0x02), chunk("ANIM", 0, 0, 0, 0, 0, 0)), "image.image.animation"},
		{"animated without the flag", "image/webp", riff(vp8x(800, 600, 0), chunk("ANIM", 0, 0, 0, 0, 0, 0)), "image.image.animation"},
		{"canvas is not the frame", "image/webp", riff(vp8x(800, 600, 0), vp8(8, 6)), "image.image.header"},
		{"canvas without a frame", "image/webp", riff(vp8x(800, 600, 0)), "image.image.header"},
		{"more than there is", "image/webp", wrong, "image.image.header"},
		{"last padding missing", "image/webp", padded[:len(padded)-1], ""},
		{"bytes behind", "image/webp", append(riff(vp8(800, 600)), 0, 0, 0), ""},
		{"28 bytes, 16384²", "image/webp", riff(vp8l(16384, 16384, 0)), "image.image.sides"},
		{"no key frame", "image/webp", riff(chunk("VP8 ", 1, 0, 0, 0x9d, 1, 0x2a, 0x20, 3, 0x58, 2)), "image.image.header"},
		{"wrong signature", "image/webp", riff(chunk("VP8L", 0x2e, 0, 0, 0, 0)), "image.image.header"},
		{"unknown chunk first", "image/webp", riff(chunk("XXXX", 0x2e, 0, 0, 0, 0)), "image.image.header"},
		{"nothing in it", "image/webp", riff(), "image.image.header"},
	})
}
