package policy

import (
	"strconv"
)

// Bounds of an input image (interface.md, Limits).
const (
	maxImageBytes = 10 << 20 // "Max 10 MB", read as the larger of its two meanings
	minImageSide  = 240
	maxImageSide  = 8000
)

// imageFormats are the media types of the formats that interface.md lists, with the names that clients' type tables
// have for them.
var imageFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/bmp": "bmp", "image/x-ms-bmp": "bmp",
	"image/webp": "webp",
}

// picture is what the header of an image says.
type picture struct {
	format        string // png, jpeg, bmp or webp; empty when the bytes are none of them
	width, height int
	alpha         bool   // a PNG colour type with an alpha channel
	clear         bool   // transparent in another way: PNG tRNS, WebP alpha
	animated      bool   // more than one frame
	broken        string // why the header cannot be believed; empty when it can
}

// image notes what rules may object to in the value of an image: an address, or the image itself, whose data is known
// to be base64 up to the index known.
func (r *reader) image(raw []byte, escaped bool, known int) {
	if !isDataURI(raw, escaped) {
		r.address(markAddress, raw, escaped)
		return
	}
	u, ok := parseDataURI(raw, escaped, known)
	if !ok {
		r.note(markData, "another form")
		return
	}
	if !u.padded {
		r.note(markPadding, "none")
	}
	if r.call.Endpoint == EndpointImage && !r.call.Older {
		r.inspect(u)
	}
}

// media notes what rules may object to in a video or audio. Its data URIs are not judged: interface.md is silent on
// them, and clients send several forms.
func (r *reader) media(raw []byte, escaped bool) {
	if !isDataURI(raw, escaped) {
		r.address(markMedia, raw, escaped)
	}
}

// inspect notes what rules may object to in an image, from its header.
func (r *reader) inspect(u dataURI) {
	declared, known := imageFormats[u.media]
	if !known {
		r.note(markImageFormat, quote(u.media))
		return
	}
	if u.size > maxImageBytes {
		r.note(markImageBytes, strconv.Itoa(u.size))
	}
	p := readPicture(openWindow(u))
	switch {
	case p.format == "":
		r.note(markImageType, "bytes that are no such image")
		return
	case p.format != declared:
		r.note(markImageType, p.format+" bytes")
		return
	case p.broken != "":
		r.note(markImageHeader, p.broken)
		return
	}
	if !isImageSide(p.width) || !isImageSide(p.height) {
		r.note(markImageSides, strconv.Itoa(p.width)+"*"+strconv.Itoa(p.height))
	}
	if p.alpha {
		r.note(markImageAlpha, "an alpha channel")
	}
	if p.clear {
		r.note(markImageClear, "transparency")
	}
	if p.animated {
		r.note(markImageAnimated, "an animation")
	}
}

func isImageSide(n int) bool { return n >= minImageSide && n <= maxImageSide }

// readPicture tells the format by the first bytes and reads the header of it.
func readPicture(w *window) picture {
	magic := w.look(0, 12)
	switch {
	case magic == nil:
		return picture{}
	case string(magic[:8]) == "\x89PNG\r\n\x1a\n":
		return readPNG(w)
	case string(magic[:3]) == "\xff\xd8\xff":
		return readJPEG(w)
	case string(magic[:2]) == "BM":
		return readBMP(w)
	case string(magic[:4]) == "RIFF" && string(magic[8:]) == "WEBP":
		return readWebP(w)
	}
	return picture{}
}

// Reasons why a header cannot be believed.
const (
	tooShort  = "a header that is cut off"
	malformed = "a malformed header"
	tooLong   = "a header that is too long"
)
