package front

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"

	"sluice/gateway/openai"
)

// mostParts is how many parts a form may have.
const mostParts = 64

// ReadForm reads a form of the type multipart/form-data. contentType is the header's value. The data of the parts are parts of
// body. Its error is of type [*openai.Refusal].
func ReadForm(contentType string, body []byte) ([]openai.Part, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, broken()
	}
	form := form{boundary: []byte("--" + params["boundary"]), rest: body, buffer: make([]byte, 4<<10)}
	reader := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	var parts []openai.Part
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil || len(parts) == mostParts {
			return nil, broken()
		}
		data, err := form.data(part)
		if err != nil {
			return nil, broken()
		}
		parts = append(parts, openai.Part{Name: part.FormName(), File: part.FileName(), MediaType: part.Header.Get("Content-Type"), Data: data})
	}
}

func broken() *openai.Refusal {
	return &openai.Refusal{Status: 400, Code: "InvalidParameter", Message: "The body is not a form of at most 64 parts, each with its end."}
}

// form finds the data of its parts in the body, where the reader would copy them: images are large.
type form struct {
	boundary []byte // with its dashes
	rest     []byte // of the body, behind the parts so far
	buffer   []byte
}

var errPlace = errors.New("the data are not behind the head of their part")

// data reads a part. The reader says what the data are; that they stand behind the part's head is a guess, which is checked. It is
// wrong only for forms that no client makes, as with a boundary inside a line before the first part.
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

// headEnd is where the head of the next part ends: behind the blank line after the boundary.
func headEnd(p, boundary []byte) int {
	start := max(bytes.Index(p, boundary), 0)
	for i := start; i < len(p); i++ {
		if p[i] == '\n' && bytes.HasPrefix(p[i+1:], []byte("\n")) {
			return i + 2
		}
		if p[i] == '\n' && bytes.HasPrefix(p[i+1:], []byte("\r\n")) {
			return i + 3
		}
	}
	return len(p)
}

// same checks that what is written is what a text begins with.
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
