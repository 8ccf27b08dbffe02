package openai

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Content is the digest of a multipart body's content. Bodies that differ only in the boundary have the same.
func Content(parts []Part) [sha256.Size]byte {
	whole := NewContents()
	for i := range parts {
		whole.Add(&parts[i], sha256.Sum256(parts[i].Data))
	}
	return whole.Sum()
}

// Contents makes [Content] of parts that come one after the other. Create it with [NewContents].
type Contents struct{ whole hash.Hash }

// NewContents begins without any part.
func NewContents() *Contents { return &Contents{sha256.New()} }

// Add adds the next part, whose data have this SHA-256.
func (c *Contents) Add(p *Part, data [sha256.Size]byte) {
	fields := [...]string{p.Name, p.File, p.MediaType}
	var lengths []byte
	for _, field := range fields {
		lengths = binary.BigEndian.AppendUint64(lengths, uint64(len(field)))
	}
	_, _ = c.whole.Write(lengths) // a hash never fails
	for _, field := range fields {
		_, _ = c.whole.Write([]byte(field))
	}
	_, _ = c.whole.Write(data[:])
}

// Sum is the digest of the parts so far.
func (c *Contents) Sum() [sha256.Size]byte { return [sha256.Size]byte(c.whole.Sum(nil)) }

// Fingerprint identifies a request, so that its repetition is recognized. key identifies the client's key, for example by its
// hash; body is [Content] of a multipart body, or the SHA-256 of any other.
func Fingerprint(key, path string, body [sha256.Size]byte) [sha256.Size]byte {
	text := make([]byte, 0, 16+len(key)+len(path)+len(body))
	for _, field := range [...]string{key, path} {
		text = append(binary.BigEndian.AppendUint64(text, uint64(len(field))), field...)
	}
	return sha256.Sum256(append(text, body[:]...))
}
