package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
)

// dataURI returns the bytes as a data URI.
func dataURI(media string, raw []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(raw)
}

// pngOf encodes a picture; opaque decides its colour type.
func pngOf(w, h int, opaque bool) []byte {
	var img image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if !opaque {
		m := image.NewNRGBA(image.Rect(0, 0, w, h))
		m.Set(0, 0, color.NRGBA{1, 2, 3, 4})
		img = m
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func jpegOf(w, h int) []byte {
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, image.NewGray(image.Rect(0, 0, w, h)), nil); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func bmpOf(w, h int32) []byte {
	raw := make([]byte, 54)
	copy(raw, "BM")
	binary.LittleEndian.PutUint32(raw[18:], uint32(w))
	binary.LittleEndian.PutUint32(raw[22:], uint32(h))
	return raw
}

func webpOf(chunk string, tail ...byte) []byte {
	raw := make([]byte, 40)
	copy(raw, "RIFF....WEBP"+chunk)
	copy(raw[20:], tail)
	return raw
}

func TestReadData(t *testing.T) {
	for _, tt := range []struct {
		name, uri string
		want      Photo // Bytes are not compared
	}{
		{"png", dataURI("image/png", pngOf(300, 240, true)), Photo{Size: Size{300, 240}}},
		{"png with alpha", dataURI("image/png", pngOf(300, 240, false)), Photo{Size{300, 240}, true, 0}},
		{"jpeg", dataURI("image/jpeg", jpegOf(320, 256)), Photo{Size: Size{320, 256}}},
		{"jpg", dataURI("image/jpg", jpegOf(320, 256)), Photo{Size: Size{320, 256}}},
		{"bmp", dataURI("image/bmp", bmpOf(640, 480)), Photo{Size: Size{640, 480}}},
		{"bmp from the top", dataURI("image/bmp", bmpOf(640, -480)), Photo{Size: Size{640, 480}}},
		{"webp lossy", dataURI("image/webp", webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0x40, 1, 0xf0, 0)), Photo{Size: Size{320, 240}}},
		{"webp lossless", dataURI("image/webp", webpOf("VP8L", 0x2f, 0x3f, 0xc1, 0x3b, 0)), Photo{Size: Size{320, 240}}},
		{"webp extended", dataURI("image/webp", webpOf("VP8X", 0, 0, 0, 0, 0x3f, 1, 0, 0xef, 0, 0)), Photo{Size: Size{320, 240}}},
		{"media type in capitals", dataURI("IMAGE/PNG", pngOf(300, 240, true)), Photo{Size: Size{300, 240}}},
	} {
		if p, err := ReadData(tt.uri); err != nil || p.Bytes == 0 || p.Size != tt.want.Size || p.Alpha != tt.want.Alpha {
			t.Errorf("%s: read %+v, %v; want %+v", tt.name, p, err, tt.want)
		}
	}
	for name, uri := range map[string]string{
		"webp of another kind": dataURI("image/webp", webpOf("VP9 ")), "short webp": dataURI("image/webp", []byte("RIFF")),
		"short bmp": dataURI("image/bmp", []byte("BM")), "short png": dataURI("image/png", []byte("\x89PNG")),
		"jpeg that is png": dataURI("image/jpeg", pngOf(300, 240, true)), "png that is jpeg": dataURI("image/png", jpegOf(300, 240)),
		"gif": dataURI("image/gif", []byte("GIF89a")), "not base64": "data:image/png;base64,???", "no marker": "data:image/png,abcd",
		"no data": "data:image/png;base64", "no media type": "data:;base64,abcd", "an address": "https://images.example/a.png",
	} {
		if p, err := ReadData(uri); err == nil {
			t.Errorf("%s: read %+v", name, p)
		}
	}
}

func TestSizeOfData(t *testing.T) {
	if got := SizeOfData(dataURI("image/png", pngOf(300, 240, true))); got != (Size{300, 240}) {
		t.Errorf("a readable picture has size %v", got)
	}
	for _, address := range []string{"https://images.example/a.png", "data:image/png;base64,abcd", ""} {
		if got := SizeOfData(address); got != DefaultSize {
			t.Errorf("%q has size %v, want the stand-in", address, got)
		}
	}
}

func FuzzReadData(f *testing.F) {
	f.Add("image/png", pngOf(4, 4, true))
	f.Add("image/bmp", bmpOf(4, 4))
	f.Add("image/webp", webpOf("VP8X", 0, 0, 0, 0, 1))
	f.Add("image/jpeg", jpegOf(4, 4))
	f.Fuzz(func(_ *testing.T, media string, raw []byte) {
		_, _ = ReadData(dataURI(media, raw)) // must not panic
	})
}

func TestSizeOfEdit(t *testing.T) {
	wide := dataURI("image/png", pngOf(1000, 500, true))
	huge := dataURI("image/bmp", bmpOf(4000, 1000))
	const far = "https://a.example/b.png"
	for _, tt := range []struct {
		name        string
		text        string
		images      []string
		interleaved bool
		want        Size
	}{
		{"explicit", "1280*720", nil, false, Size{1280, 720}},
		{"explicit in steps of 16", "1001*1003", nil, false, Size{1008, 1008}},
		{"default is 1K", "", []string{far}, false, Size{1280, 1280}},
		{"1K", "1K", []string{far}, false, Size{1280, 1280}},
		{"2K", "2K", []string{far}, false, Size{2048, 2048}},
		{"like the input", "1K", []string{wide}, false, Size{1808, 912}},
		{"like the last input", "1K", []string{wide, far}, false, Size{1280, 1280}},
		{"2K like the input", "2K", []string{wide}, false, Size{2896, 1456}},
		{"interleaved without input", "", nil, true, Size{1280, 1280}},
		{"interleaved as the input is", "", []string{wide}, true, Size{1000, 500}},
		{"interleaved shrunk", "", []string{huge}, true, Size{2560, 640}},
	} {
		if got := SizeOfEdit(tt.text, tt.images, tt.interleaved); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
