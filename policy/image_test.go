package policy_test

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"sluice/policy"
)

// pngHeader is a PNG of the given sides and colour type up to the start of its pixels, with empty chunks of these names in
// between.
func pngHeader(width, height int, colour byte, chunks ...string) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, uint32(width))
	b = binary.BigEndian.AppendUint32(b, uint32(height))
	b = append(b, 8, colour, 0, 0, 0, 0, 0, 0, 0)
	for _, name := range append(chunks, "IDAT") {
		b = append(b, 0, 0, 0, 0)
		b = append(b, name...)
		b = append(b, 0, 0, 0, 0)
	}
	return b
}

// segment is a JPEG marker segment with this payload.
func segment(marker byte, payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xFF, marker}, uint16(len(payload)+2)), payload...)
}

// jpegHeader is a JPEG: the given segments, then a frame header with the marker.
func jpegHeader(width, height int, marker byte, before ...[]byte) []byte {
	b := []byte{0xFF, 0xD8}
	for _, s := range before {
		b = append(b, s...)
	}
	if len(before) == 0 {
		b = append(b, segment(0xE0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")...)...)
	}
	frame := binary.BigEndian.AppendUint16([]byte{8}, uint16(height))
	frame = binary.BigEndian.AppendUint16(frame, uint16(width))
	return append(b, segment(marker, append(frame, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1)...)...)
}

// bmpFile is a Windows bitmap with its pixels.
func bmpFile(width, height, depth int) []byte {
	b := append([]byte("BM"), make([]byte, 52)...)
	binary.LittleEndian.PutUint32(b[10:], 54)
	binary.LittleEndian.PutUint32(b[14:], 40)
	binary.LittleEndian.PutUint32(b[18:], uint32(int32(width)))
	binary.LittleEndian.PutUint32(b[22:], uint32(int32(height)))
	binary.LittleEndian.PutUint16(b[26:], 1)
	binary.LittleEndian.PutUint16(b[28:], uint16(depth))
	return append(b, make([]byte, (width*depth+31)/32*4*max(height, -height))...)
}

// riff wraps WebP chunks.
func riff(chunks ...[]byte) []byte {
	body := []byte("WEBP")
	for _, c := range chunks {
		body = append(body, c...)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func chunk(name string, payload ...byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(payload)))
	b = append(b, payload...)
	return append(b, make([]byte, len(payload)%2)...)
}

func vp8(width, height int) []byte {
	b := append([]byte{0x10, 0, 0, 0x9d, 0x01, 0x2a}, byte(width), byte(width>>8), byte(height), byte(height>>8))
	return chunk("VP8 ", append(b, 0, 0)...)
}

func vp8l(width, height int, alpha uint32) []byte {
	return chunk("VP8L", binary.LittleEndian.AppendUint32([]byte{0x2f}, uint32(width-1)|uint32(height-1)<<14|alpha<<28)...)
}

func vp8x(width, height int, flags byte) []byte {
	w, h := width-1, height-1
	return chunk("VP8X", flags, 0, 0, 0, byte(w), byte(w>>8), byte(w>>16), byte(h), byte(h>>8), byte(h>>16))
}

// uri is a data URI of a type.
func uri(media string, image []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(image)
}

// padTo pads an image to size bytes.
func padTo(image []byte, size int) []byte { return append(image, make([]byte, size-len(image))...) }

// imageVerdict is the verdict on one input image, by the call's name.
func imageVerdict(t *testing.T, call, image string) string {
	t.Helper()
	model := "gen2.6-image"
	switch call {
	case "chat":
		model = "llm-vl"
	case "sync":
		model = "llm-image"
	}
	return strings.Join(verdict(t, &families, call, itemsBody(model, `{"text":"a"},{"image":`+image+`}`, "")), " ")
}

// imageCase is one input image and the rules it breaks as part of a task.
type imageCase struct{ id, image, want string }

func testImages(t *testing.T, cases []imageCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.id, func(t *testing.T) {
			if got := imageVerdict(t, "task", tt.image); got != tt.want {
				t.Errorf("broke %q, want %q", got, tt.want)
			}
		})
	}
}

// imageFile is an imageCase with the image's bytes.
type imageFile struct {
	id, media string
	image     []byte
	want      string
}

func testFiles(t *testing.T, files []imageFile) {
	t.Helper()
	cases := make([]imageCase, len(files))
	for i, f := range files {
		cases[i] = imageCase{f.id, `"` + uri(f.media, f.image) + `"`, f.want}
	}
	testImages(t, cases)
}

func TestImageTypes(t *testing.T) {
	png := pngHeader(800, 600, 2)
	testFiles(t, []imageFile{
		{"png", "image/png", png, ""},
		{"jpeg", "image/jpeg", jpegHeader(800, 600, 0xC0), ""},
		{"jpg is jpeg", "image/jpg", jpegHeader(800, 600, 0xC0), ""},
		{"bmp", "image/bmp", bmpFile(240, 240, 8), ""},
		{"webp", "image/webp", riff(vp8(800, 600)), ""},
		{"png that is jpeg", "image/png", jpegHeader(800, 600, 0xC0), "image.image.type"},
		{"png that is webp", "image/png", riff(vp8(800, 600)), "image.image.type"},
		{"png that is bmp", "image/png", bmpFile(240, 240, 8), "image.image.type"},
		{"jpeg that is png", "image/jpeg", png, "image.image.type"},
		{"png that is gif", "image/png", []byte("GIF89a\x20\x03\x58\x02\x00\x00\x00"), "image.image.type"},
		{"png that is svg", "image/png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "image.image.type"},
		{"png that is html", "image/png", []byte(`<!doctype html><script>alert(1)</script>`), "image.image.type"},
		{"png that is zip", "image/png", []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00"), "image.image.type"},
		{"too short for any", "image/png", []byte("\x89PNG"), "image.image.type"},
		{"gif", "image/gif", []byte("GIF89a\x20\x03\x58\x02\x00\x00\x00"), "image.image.format"},
		{"svg", "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "image.image.format"},
		{"text", "text/plain", png, "image.image.format"},
	})
}

func TestImageBytes(t *testing.T) {
	png := pngHeader(800, 600, 2)
	testFiles(t, []imageFile{
		{"10 MiB", "image/png", padTo(png, 10<<20), ""},
		{"10 MiB and one byte", "image/png", padTo(png, 10<<20+1), "image.image.bytes"},
		{"10 MiB less one byte", "image/png", padTo(png, 10<<20-1), ""},
	})
}

func TestImageSides(t *testing.T) {
	var files []imageFile
	for _, tt := range []struct {
		width, height int
		want          string
	}{
		{240, 240, ""}, {8000, 8000, ""}, {240, 8000, ""}, {239, 240, "image.image.sides"}, {240, 239, "image.image.sides"},
		{8001, 240, "image.image.sides"}, {240, 8001, "image.image.sides"}, {0, 0, "image.image.sides"},
		{0, 300, "image.image.sides"}, {60000, 60000, "image.image.sides"},
	} {
		files = append(files,
			imageFile{"png", "image/png", pngHeader(tt.width, tt.height, 2), tt.want},
			imageFile{"jpeg", "image/jpeg", jpegHeader(tt.width, tt.height, 0xC0), tt.want})
		if tt.width > 0 && tt.width < 16384 {
			files = append(files,
				imageFile{"webp", "image/webp", riff(vp8(tt.width, tt.height)), tt.want},
				imageFile{"webp lossless", "image/webp", riff(vp8l(tt.width, tt.height, 0)), tt.want})
		}
	}
	files = append(files, imageFile{"2^31-1", "image/png", pngHeader(1<<31-1, 1<<31-1, 2), "image.image.sides"})
	testFiles(t, files)
}

// TestImagesElsewhere judges only the form of an image's address on paths that create no task.
func TestImagesElsewhere(t *testing.T) {
	bad := `"` + uri("image/png", pngHeader(9, 9, 6)) + `"`
	for _, call := range []string{"chat", "sync"} {
		if got := imageVerdict(t, call, bad); got != "" {
			t.Errorf("%s: broke %q", call, got)
		}
	}
	older := `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"image":` + bad + `}]}]}}`
	if got := verdict(t, &families, "older", older); len(got) > 0 {
		t.Errorf("older: broke %q", got)
	}
	other := itemsBody("gen2.5-i2i", `{"image":`+bad+`}`, "")
	if got := verdict(t, &families, "task", other); len(got) > 0 {
		t.Errorf("another model: broke %q", got)
	}
}

// TestOneImageFourTimes takes one image four times.
func TestOneImageFourTimes(t *testing.T) {
	image := `,{"image":"` + uri("image/png", pngHeader(800, 600, 2)) + `"}`
	if got := verdict(t, &families, "task", itemsBody("gen2.6-image", `{"text":"a"}`+strings.Repeat(image, 4), "")); len(got) > 0 {
		t.Errorf("broke %q", got)
	}
}

// TestFourLargeImagesCostNoMemory reads the largest body that the service accepts, 53 MiB, in memory that does not depend on its
// size.
func TestFourLargeImagesCostNoMemory(t *testing.T) {
	body := imageBody(4, 10<<20)
	q, err := policy.Read(&families, calls["task"], body)
	if err != nil || q.InputImages != 4 || len(policy.Judge(nil, nil, &q).Violations) > 0 {
		t.Errorf("%d images, %v", q.InputImages, err)
	}
	if bytes := allocated(t, calls["task"], body); bytes > 64<<10 {
		t.Errorf("%d bytes allocated beyond the body", bytes)
	}
}
