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
func (f *facts) image(raw []byte, escaped bool, known int) {
	if !picture.IsDataURI(raw, escaped) {
		f.address(markAddress, raw, escaped)
		return
	}
	u, ok := picture.ParseDataURI(raw, escaped, known)
	if !ok {
		f.note(markData, "another form")
		return
	}
	if !u.Padded {
		f.note(markPadding, "none")
	}
	if f.call.Endpoint == EndpointImage && !f.call.Older {
		f.inspect(u)
	}
}

// media notes what rules may object to in a video or audio. Its data URIs are not judged: interface.md is silent on
// them, and clients send several forms.
func (f *facts) media(raw []byte, escaped bool) {
	if !picture.IsDataURI(raw, escaped) {
		f.address(markMedia, raw, escaped)
	}
}

// inspect notes what rules may object to in an image, from its header.
func (f *facts) inspect(u picture.DataURI) {
	declared, known := imageFormats[u.Media]
	if !known {
		f.note(markImageFormat, quote(u.Media))
		return
	}
	if u.Size > maxImageBytes {
		f.note(markImageBytes, strconv.Itoa(u.Size))
	}
	h := u.Header()
	switch {
	case h.Format == "":
		f.note(markImageType, "bytes that are no such image")
		return
	case h.Format != declared:
		f.note(markImageType, h.Format+" bytes")
		return
	case h.Broken != "":
		f.note(markImageHeader, h.Broken)
		return
	}
	if !picture.SideFits(h.Width) || !picture.SideFits(h.Height) {
		f.note(markImageSides, strconv.Itoa(h.Width)+"*"+strconv.Itoa(h.Height))
	}
	if h.Alpha {
		f.note(markImageAlpha, "an alpha channel")
	}
	if h.Clear {
		f.note(markImageClear, "transparency")
	}
	if h.Animated {
		f.note(markImageAnimated, "an animation")
	}
}
