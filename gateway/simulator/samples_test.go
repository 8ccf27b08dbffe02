package simulator

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
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

func bmpOf(w, h int32) []byte {
	raw := make([]byte, 54)
	copy(raw, "BM")
	binary.LittleEndian.PutUint32(raw[18:], uint32(w))
	binary.LittleEndian.PutUint32(raw[22:], uint32(h))
	return raw
}
