package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Part is one part of a multipart body.
type Part struct {
	Name      string // of the form's field
	File      string // the file's name; empty: not a file
	MediaType string // as the part declares it; may be empty
	Data      []byte
}

// mostImages is how many images one request may edit.
const mostImages = 4

// Edit translates the parts of POST /v1/images/edits. Its errors are of type [*conversation.Refusal]. The result holds no part of them.
func Edit(parts []Part, models *conversation.Models) (r *conversation.Request, err error) {
	var p imageRequest
	var seen strictjson.Once
	size := 0
	if err := boundTexts(parts, models); err != nil {
		return nil, err
	}
	for _, part := range parts {
		if part.Name == "image" || part.Name == "image[]" {
			p.images = append(p.images, part)
			continue
		}
		name := []byte(part.Name)
		if !seen.Add(name) {
			return nil, conversation.RefusedName(&seen, name)
		}
		switch {
		case part.File != "":
			return nil, conversation.BadRequest(conversation.Brief(part.Name), "The file %q is not supported; only images are.",
				conversation.Brief(part.Name))
		case len(part.Data) == 0:
			continue // a form sends its empty fields, too
		}
		value := part.value()
		size += len(part.Name) + len(value) + 8
		if err = p.member(name, value); err != nil {
			return nil, err
		}
	}
	switch {
	case len(p.images) == 0:
		return nil, conversation.BadRequest("image", "image: 1 to %d files are needed.", mostImages)
	case len(p.images) > mostImages:
		return nil, conversation.BadRequest("image", "image: 1 to %d files are allowed; %d were given.", mostImages, len(p.images))
	}
	return p.translate(size, models)
}

// boundTexts refuses texts that are too long, and asks for the memory that they need as JSON, before they are written as JSON.
func boundTexts(parts []Part, models *conversation.Models) error {
	size := 0
	for i := range parts {
		p := &parts[i]
		if p.Name == "image" || p.Name == "image[]" || p.File != "" {
			continue
		}
		if err := boundPart(p); err != nil {
			return err
		}
		size += mostEscape * len(p.Data)
	}
	return models.Ask(size)
}

// boundPart refuses a field of a form that is too long.
func boundPart(p *Part) error {
	most, unit := imageBound(p.Name)
	given := len(p.Data)
	if unit == conversation.Characters && given > most {
		given = utf8.RuneCount(p.Data)
	}
	if given > most {
		return conversation.RefuseLong(conversation.Brief(p.Name), given, most, unit)
	}
	return nil
}

// value is the part as a JSON value. Forms have no types, so fields that are not known to be strings are numbers or booleans if
// they look like it.
func (p *Part) value() []byte {
	switch p.Name {
	case "model", "prompt", "negative_prompt", "size", "user", "safety_identifier", "response_format":
		return p.quoted()
	}
	switch value := jsontext.Value(p.Data); value.Kind() {
	case '0', 't', 'f':
		if value.IsValid() {
			return bytes.TrimLeft(p.Data, " \t\r\n")
		}
	}
	return p.quoted()
}

func (p *Part) quoted() []byte {
	size := len(p.Data) + 2
	for _, c := range p.Data {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			size += mostEscape - 1
		}
	}
	return rawjson.Quote(make([]byte, 0, size), p.Data)
}

// appendURI appends the file as a data URI, as part of a JSON string.
func (p *Part) appendURI(dst []byte) []byte {
	dst = append(append(dst, "data:"...), p.imageType()...)
	return base64.StdEncoding.AppendEncode(append(dst, ";base64,"...), p.Data)
}

// imageType is the media type by the first bytes, or else as declared: clients declare what the file's name suggests.
func (p *Part) imageType() string {
	head := string(p.Data[:min(len(p.Data), 12)])
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(head, "RIFF") && strings.HasSuffix(head, "WEBP"):
		return "image/webp"
	case strings.HasPrefix(head, "BM"):
		return "image/bmp"
	}
	declared := strings.ToLower(p.MediaType)
	odd := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.+-", r) }
	if subtype, ok := strings.CutPrefix(declared, "image/"); ok && subtype != "" && !strings.ContainsFunc(subtype, odd) {
		return declared
	}
	return "application/octet-stream"
}

// Content is the digest of a multipart body's content. Bodies that differ only in the boundary have the same digest.
func Content(parts []Part) [sha256.Size]byte {
	whole := NewContents()
	for i := range parts {
		whole.Add(&parts[i], sha256.Sum256(parts[i].Data))
	}
	return whole.Sum()
}

// Contents makes [Content] of parts that arrive one after another. Create it with [NewContents].
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
