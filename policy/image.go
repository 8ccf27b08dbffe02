package policy

import (
	"strconv"

	"sluice/policy/picture"
)

// maxImageBytes bounds an input image: "Max 10 MB" (interface.md, Limits), read as MiB, the larger of its meanings.
const maxImageBytes = 10 << 20

// imageFormats maps the media types of the formats in interface.md to the format. Some have several names in clients'
// type tables.
var imageFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/bmp": "bmp", "image/x-ms-bmp": "bmp",
	"image/webp": "webp",
}

// image notes what rules may object to in an image: an address, or a data URI that is base64 up to the index known.
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

// media notes what rules may object to in a video or audio. Data URIs are not judged: interface.md does not mention
// them, and clients send several forms.
func (f *facts) media(raw []byte, escaped bool) {
	if !picture.IsDataURI(raw, escaped) {
		f.address(markMedia, raw, escaped)
	}
}

// inspect notes what rules may object to in an image itself, by its header.
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
