package front

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"

	"sluice/gateway/openai"
)

// mostParts is how many parts a form may have.
const mostParts = 64

// ReadForm reads a form of the type multipart/form-data. contentType is the header's value. Its error is of type
// [*openai.Refusal].
func ReadForm(contentType string, body []byte) ([]openai.Part, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, broken()
	}
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
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, broken()
		}
		parts = append(parts, openai.Part{Name: part.FormName(), File: part.FileName(), MediaType: part.Header.Get("Content-Type"), Data: data})
	}
}

func broken() *openai.Refusal {
	return &openai.Refusal{Status: 400, Code: "InvalidParameter", Message: "The body is not a form of at most 64 parts, each with its end."}
}
