// Package picture reads the images inside a request body: their data URIs, and from the images the header alone. It
// decodes no pixels, keeps no copy and allocates little, whatever the size of the image.
//
// It tells format and size of an image. The rules of package policy decide whether the service takes it.
package picture

// Header tells the format by the first bytes of the data and reads its header.
func (u DataURI) Header() Header { return readHeader(openWindow(u)) }

func readHeader(w *window) Header {
	magic := w.look(0, 12)
	switch {
	case magic == nil:
		return Header{}
	case string(magic[:8]) == "\x89PNG\r\n\x1a\n":
		return readPNG(w)
	case string(magic[:3]) == "\xff\xd8\xff":
		return readJPEG(w)
	case string(magic[:2]) == "BM":
		return readBMP(w)
	case string(magic[:4]) == "RIFF" && string(magic[8:]) == "WEBP":
		return readWebP(w)
	}
	return Header{}
}
