package openai

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"regexp"

	"sluice/gateway/conversation"
)

const (
	// mostParts is how many parts a form may have.
	mostParts = 64
	// mostHead is how many bytes the head of a part and the text before it may have. Heads are copied, and clients' are short.
	mostHead = 8 << 10
	// formBuffer is how many bytes of a part are read at a time.
	formBuffer = 4 << 10
)

// ReadForm reads a form of the type multipart/form-data. contentType is the header's value. The data of the parts are slices of
// body. Its error is of type [*conversation.Refusal].
func ReadForm(contentType string, body []byte) (parts []Part, err error) {
	form := form{rest: body, buffer: make([]byte, formBuffer)}
	err = eachPart(contentType, bytes.NewReader(body), func(boundary string, part Part, data io.Reader) (err error) {
		form.boundary = append(append(form.boundary[:0], "--"...), boundary...)
		part.Data, err = form.data(data)
		parts = append(parts, part)
		return err
	})
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// DigestBody is the SHA-256 of a body, which it reads without keeping it.
func DigestBody(_ string, body io.Reader) ([sha256.Size]byte, error) {
	whole := sha256.New()
	_, err := io.Copy(whole, body)
	return [sha256.Size]byte(whole.Sum(nil)), err
}

// DigestForm is the [Content] of a form, which it reads without keeping it, and what follows the form's end.
func DigestForm(contentType string, body io.Reader) (sum [sha256.Size]byte, err error) {
	contents, buffer := NewContents(), make([]byte, formBuffer)
	err = eachPart(contentType, body, func(_ string, part Part, data io.Reader) error {
		of := sha256.New()
		if _, err := io.CopyBuffer(of, data, buffer); err != nil {
			return err
		}
		contents.Add(&part, [sha256.Size]byte(of.Sum(nil)))
		return nil
	})
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	return contents.Sum(), err
}

// eachPart calls take for each part of a form in turn. The part has no data yet; take MUST read them to their end. The error is of
// type [*conversation.Refusal].
func eachPart(contentType string, body io.Reader, take func(boundary string, part Part, data io.Reader) error) error {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return broken()
	}
	from := &headed{Reader: body}
	reader := multipart.NewReader(from, params["boundary"])
	for n := 0; ; n++ {
		from.left = mostHead
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil || n == mostParts {
			return broken()
		}
		from.left = -1
		head := Part{Name: part.FormName(), File: part.FileName(), MediaType: part.Header.Get("Content-Type")}
		if take(params["boundary"], head, part) != nil {
			return broken()
		}
	}
}

func broken() *conversation.Refusal {
	return conversation.BadRequest("", "The body is not a form of at most 64 parts, each with a head of at most 8 KiB, and with its end.")
}

// headed bounds the bytes read in search of a part's head: the standard reader would keep 10 MiB of them.
type headed struct {
	io.Reader
	left int // -1: any number of bytes
}

var errHead = errors.New("the head of a part is too long")

func (h *headed) Read(p []byte) (int, error) {
	if h.left < 0 {
		return h.Reader.Read(p)
	}
	if h.left == 0 {
		return 0, errHead
	}
	n, err := h.Reader.Read(p[:min(len(p), h.left)])
	h.left -= n
	return n, err
}

// form finds the data of its parts in the body, because the reader would copy them and images are large.
type form struct {
	boundary []byte // with its dashes
	rest     []byte // of the body, after the parts so far
	buffer   []byte
}

var errPlace = errors.New("the data are not behind the head of their part")

// data reads a part. It guesses that the data follow the part's head in the body, and checks that they are what the reader
// returns. The guess is wrong only for forms that no client makes, as with a boundary inside a line before the first part.
func (f *form) data(part io.Reader) ([]byte, error) {
	f.rest = f.rest[headEnd(f.rest, f.boundary):]
	same := same{as: f.rest}
	if _, err := io.CopyBuffer(&same, part, f.buffer); err != nil {
		return nil, err
	}
	data := f.rest[:same.size:same.size]
	f.rest = f.rest[same.size:]
	return data, nil
}

// headEnd is where the head of the next part ends: after the blank line after the boundary.
func headEnd(p, boundary []byte) int {
	start := max(bytes.Index(p, boundary), 0)
	if blank := blankLine.FindIndex(p[start:]); blank != nil {
		return start + blank[1]
	}
	return len(p)
}

var blankLine = regexp.MustCompile(`\n\r?\n`)

// same checks that the written bytes are the beginning of a text.
type same struct {
	as   []byte
	size int // bytes that were written
}

func (s *same) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(s.as[s.size:], p) {
		return 0, errPlace
	}
	s.size += len(p)
	return len(p), nil
}
