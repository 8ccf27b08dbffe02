package policy

import (
	"strconv"

	"sluice/policy/picture"
)

// maxImageBytes bounds an input image (interface.md, Limits): "Max 10 MB", read as the larger of its two meanings.
const maxImageBytes = 10 << 20

// imageFormats are the media types of the formats that interface.md lists, with the names that clients' type tables
// have for them.
var imageFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/bmp": "bmp", "image/x-ms-bmp": "bmp",
	"image/webp": "webp",
}

// image notes what rules may object to in the value of an image: an address, or the image itself, whose data is known
// to be base64 up to the index known.
func (r *reader) image(raw []byte, escaped bool, known int) {
	if !picture.IsDataURI(raw, escaped) {
		r.address(markAddress, raw, escaped)
		return
	}
	u, ok := picture.ParseDataURI(raw, escaped, known)
	if !ok {
		r.note(markData, "another form")
		return
	}
	if !u.Padded {
		r.note(markPadding, "none")
	}
	if r.call.Endpoint == EndpointImage && !r.call.Older {
		r.inspect(u)
	}
}

// media notes what rules may object to in a video or audio. Its data URIs are not judged: interface.md is silent on
// them, and clients send several forms.
func (r *reader) media(raw []byte, escaped bool) {
	if !picture.IsDataURI(raw, escaped) {
		r.address(markMedia, raw, escaped)
	}
}

// inspect notes what rules may object to in an image, from its header.
func (r *reader) inspect(u picture.DataURI) {
	declared, known := imageFormats[u.Media]
	if !known {
		r.note(markImageFormat, quote(u.Media))
		return
	}
	if u.Size > maxImageBytes {
		r.note(markImageBytes, strconv.Itoa(u.Size))
	}
	h := u.Header()
	switch {
	case h.Format == "":
		r.note(markImageType, "bytes that are no such image")
		return
	case h.Format != declared:
		r.note(markImageType, h.Format+" bytes")
		return
	case h.Broken != "":
		r.note(markImageHeader, h.Broken)
		return
	}
	if !picture.SideFits(h.Width) || !picture.SideFits(h.Height) {
		r.note(markImageSides, strconv.Itoa(h.Width)+"*"+strconv.Itoa(h.Height))
	}
	if h.Alpha {
		r.note(markImageAlpha, "an alpha channel")
	}
	if h.Clear {
		r.note(markImageClear, "transparency")
	}
	if h.Animated {
		r.note(markImageAnimated, "an animation")
	}
}
