package policy_test

import "encoding/binary"

// pngHeader is a PNG up to the start of its pixels, of so many and of a colour type.
func pngHeader(width, height int, colour byte, chunks ...string) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, uint32(width))
	b = binary.BigEndian.AppendUint32(b, uint32(height))
	b = append(b, 8, colour, 0, 0, 0, 0, 0, 0, 0)
	for _, name := range append(chunks, "IDAT") {
		b = append(b, 0, 0, 0, 0)
		b = append(b, name...)
		b = append(b, 0, 0, 0, 0)
	}
	return b
}
