package openai

import (
	"crypto/sha256"
	"encoding/binary"
)

// Content is the digest of a multipart body's content. Bodies that differ only in the boundary have the same.
func Content(parts []Part) [sha256.Size]byte {
	var lengths []byte
	whole := sha256.New()
	for i := range parts {
		p := &parts[i]
		fields := [...]string{p.Name, p.File, p.MediaType}
		lengths = lengths[:0]
		for _, field := range fields {
			lengths = binary.BigEndian.AppendUint64(lengths, uint64(len(field)))
		}
		_, _ = whole.Write(binary.BigEndian.AppendUint64(lengths, uint64(len(p.Data)))) // a hash never fails
		for _, field := range fields {
			_, _ = whole.Write([]byte(field))
		}
		_, _ = whole.Write(p.Data)
	}
	return [sha256.Size]byte(whole.Sum(nil))
}

// Fingerprint identifies a request, so that its repetition is recognized. key identifies the client's key, for example by its
// hash; body is [Content] of a multipart body, or the SHA-256 of any other.
func Fingerprint(key, path string, body [sha256.Size]byte) [sha256.Size]byte {
	text := make([]byte, 0, 16+len(key)+len(path)+len(body))
	for _, field := range [...]string{key, path} {
		text = append(binary.BigEndian.AppendUint64(text, uint64(len(field))), field...)
	}
	return sha256.Sum256(append(text, body[:]...))
}
