package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"image"
	_ "image/jpeg" // registers the format for DecodeConfig
	_ "image/png"  // likewise
	"mime"
	"strings"
)

// Photo has the facts in the head of an image file.
type Photo struct {
	Size  Size
	Alpha bool // has an alpha channel
	Bytes int  // of the file
}

// ErrURI is the error of a text that is not a Base64 data URI.
var ErrURI = errors.New("is not a Base64 data URI of the form data:{mime_type};base64,{data}")

// SizeOfData returns the size of the image in a data URI, or DefaultSize.
func SizeOfData(uri string) Size {
	if p, err := ReadData(uri); err == nil && p.Size.W > 0 && p.Size.H > 0 {
		return p.Size
	}
	return DefaultSize
}

// ReadData reads the head of the image in a data URI. The error is ErrURI, or describes the fault of the image.
func ReadData(uri string) (Photo, error) {
	head, data, ok := strings.Cut(uri, ",")
	media, found := strings.CutPrefix(strings.TrimSuffix(head, ";base64"), "data:")
	if !ok || !found || !strings.HasSuffix(head, ";base64") {
		return Photo{}, ErrURI
	}
	media, _, err := mime.ParseMediaType(media)
	if err != nil {
		return Photo{}, ErrURI
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return Photo{}, ErrURI
	}
	p := Photo{Bytes: len(raw)}
	p.Size, p.Alpha, err = readHead(media, raw)
	return p, err
}

// errHead is the error of an image that does not match its media type.
var errHead = errors.New("is not an image of its media type")

func readHead(media string, raw []byte) (Size, bool, error) {
	switch media {
	case "image/png", "image/jpeg", "image/jpg":
		cfg, format, err := image.DecodeConfig(bytes.NewReader(raw))
		if err != nil || (format == "png") != (media == "image/png") {
			return Size{}, false, errHead
		}
		// Byte 25 of a PNG is its colour type; 4 and 6 have an alpha channel.
		alpha := format == "png" && (raw[25] == 4 || raw[25] == 6)
		return Size{cfg.Width, cfg.Height}, alpha, nil
	case "image/bmp":
		return readBMP(raw)
	case "image/webp":
		return readWebP(raw)
	}
	return Size{}, false, errors.New("has a format other than JPEG, JPG, PNG, BMP and WEBP")
}

func readBMP(raw []byte) (Size, bool, error) {
	if len(raw) < 26 || string(raw[:2]) != "BM" {
		return Size{}, false, errHead
	}
	w := int32(binary.LittleEndian.Uint32(raw[18:]))
	h := int32(binary.LittleEndian.Uint32(raw[22:]))
	return Size{int(w), int(max(h, -h))}, false, nil // a negative height is top-down
}

func readWebP(raw []byte) (Size, bool, error) {
	if len(raw) < 30 || string(raw[:4]) != "RIFF" || string(raw[8:12]) != "WEBP" {
		return Size{}, false, errHead
	}
	switch string(raw[12:16]) {
	case "VP8 ":
		w, h := binary.LittleEndian.Uint16(raw[26:]), binary.LittleEndian.Uint16(raw[28:])
		return Size{int(w & 0x3fff), int(h & 0x3fff)}, false, nil
	case "VP8L":
		bits := binary.LittleEndian.Uint32(raw[21:])
		return Size{int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1}, false, nil
	case "VP8X":
		w := int(raw[24]) | int(raw[25])<<8 | int(raw[26])<<16
		h := int(raw[27]) | int(raw[28])<<8 | int(raw[29])<<16
		return Size{w + 1, h + 1}, false, nil
	}
	return Size{}, false, errHead
}
