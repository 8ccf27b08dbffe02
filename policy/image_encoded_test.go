package policy_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"testing"

	"golang.org/x/image/bmp"
)

// drawings are images of all colour models that an encoder distinguishes.
func drawings(width, height int) map[string]image.Image {
	r := image.Rect(0, 0, width, height)
	opaque := color.Palette{color.Black, color.White}
	clear := color.Palette{color.Transparent, color.White}
	full := image.NewRGBA(r)
	for i := range full.Pix {
		full.Pix[i] = 0xFF
	}
	return map[string]image.Image{
		"grey": image.NewGray(r), "grey of 16 bits": image.NewGray16(r), "opaque": full,
		"alpha": image.NewNRGBA(r), "alpha of 16 bits": image.NewNRGBA64(r),
		"palette": image.NewPaletted(r, opaque), "palette with a hole": image.NewPaletted(r, clear),
	}
}

// TestEncodedImages judges what the standard encoders write, pixels and all. No rule names the alpha of BMP.
func TestEncodedImages(t *testing.T) {
	want := map[string]string{
		"alpha": "image.image.alpha", "alpha of 16 bits": "image.image.alpha",
		"palette with a hole": "image.image.transparency?",
	}
	var files []imageFile
	add := func(name, media, want string, encode func(io.Writer) error) {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		files = append(files, imageFile{name, media, b.Bytes(), want})
	}
	for name, drawing := range drawings(250, 241) {
		add(name, "image/png", want[name], func(w io.Writer) error { return png.Encode(w, drawing) })
		add(name, "image/bmp", "", func(w io.Writer) error { return bmp.Encode(w, drawing) })
		for _, quality := range []int{1, 75, 100} {
			add(name, "image/jpeg", "", func(w io.Writer) error { return jpeg.Encode(w, drawing, &jpeg.Options{Quality: quality}) })
		}
	}
	testFiles(t, files)
}

// TestEncodedSides holds the sides of encoded images to both bounds.
func TestEncodedSides(t *testing.T) {
	var files []imageFile
	for _, tt := range []struct {
		width, height int
		want          string
	}{
		{240, 240, ""}, {239, 240, "image.image.sides"}, {240, 239, "image.image.sides"}, {8000, 240, ""},
		{8001, 240, "image.image.sides"}, {240, 8000, ""}, {240, 8001, "image.image.sides"},
	} {
		var p, j, b bytes.Buffer
		drawing := image.NewGray(image.Rect(0, 0, tt.width, tt.height))
		if png.Encode(&p, drawing) != nil || jpeg.Encode(&j, drawing, nil) != nil || bmp.Encode(&b, drawing) != nil {
			t.Fatal("the encoders failed")
		}
		files = append(files,
			imageFile{"encoded png", "image/png", p.Bytes(), tt.want},
			imageFile{"encoded jpeg", "image/jpeg", j.Bytes(), tt.want},
			imageFile{"encoded bmp", "image/bmp", b.Bytes(), tt.want})
	}
	testFiles(t, files)
}
