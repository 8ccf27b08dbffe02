package policy

import (
	"bytes"
	"strconv"
	"strings"

	"sluice/policy/picture"
	"sluice/policy/strictjson"
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

// maxAddress bounds an address in bytes. Pre-signed addresses have some two thousand; servers refuse longer request lines.
const maxAddress = 8 << 10

// address marks an address that the service would not fetch. It is judged by its form and never fetched here.
func (f *facts) address(m mark, raw []byte, escaped bool) {
	if f.marks[m].count == maxMarked {
		return
	}
	a := raw
	if escaped {
		a = strictjson.Unescape(nil, raw, maxAddress+1)
	}
	if !isAddress(a, f.call.Resolve) {
		f.note(m, quote(string(a[:min(len(a), strictjson.MaxEcho+1)])))
	}
}

// isAddress reports whether a is an http or https address, or an oss address that the service was asked to resolve.
// User information is refused because it makes one host look like another; a host beyond ASCII, because parsers spell
// it in different ways. The path may hold anything but white space and control characters.
func isAddress(a []byte, resolve bool) bool {
	if len(a) > maxAddress || bytes.ContainsFunc(a, func(c rune) bool { return c <= ' ' || c == 0x7F }) {
		return false
	}
	scheme, rest, found := bytes.Cut(a, []byte("://"))
	if !found {
		return false
	}
	host := rest
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	switch strings.ToLower(string(scheme[:min(len(scheme), len("https")+1)])) {
	case "http", "https":
		return isHost(host)
	case "oss":
		return resolve && isHost(host)
	}
	return false
}

// isHost reports whether h is a host with an optional port.
func isHost(h []byte) bool {
	if len(h) > 0 && h[0] == '[' { // an IPv6 address
		end := bytes.IndexByte(h, ']')
		return end > 1 && isPort(h[end+1:]) && len(bytes.Trim(h[1:end], "0123456789abcdefABCDEF:.")) == 0
	}
	name := h
	if colon := bytes.IndexByte(h, ':'); colon >= 0 {
		name = h[:colon]
		if !isPort(h[colon:]) {
			return false
		}
	}
	for _, c := range name {
		if l := c | 0x20; (l < 'a' || l > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return len(name) > 0
}

// isPort reports whether p is empty, or a colon and a number.
func isPort(p []byte) bool {
	return len(p) == 0 || p[0] == ':' && len(p) <= 6 && len(bytes.Trim(p[1:], "0123456789")) == 0
}
