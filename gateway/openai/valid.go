package openai

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Two members of one name are refused where this package reads them. The others stay in the body, and the gateway's reader of
// bodies refuses them; it bounds the cost of a hostile body, which a check here would not.
var (
	strictly  = []jsontext.Options{jsontext.AllowDuplicateNames(true)}
	leniently = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
)

// readRequest returns the one object of a request's body.
func readRequest(body []byte) ([]byte, error) {
	object := blank(body)
	switch {
	case jsontext.Value(object).IsValid(strictly...):
		if kind(object) == '{' {
			return object, nil
		}
		return nil, badRequest("", "The body must be a JSON object.")
	case len(object) == 0:
		return nil, badRequest("", "The body is empty; a JSON object is needed.")
	}
	return nil, badRequest("", "The body is not one JSON document in UTF-8: there is a fault at byte %d.", faultAt(body))
}

// faultAt is the offset at which a body stops to be one JSON document.
func faultAt(body []byte) int64 {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), strictly...)
	_, err := decoder.ReadValue()
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fault.ByteOffset
	}
	return decoder.InputOffset() // more follows the document
}

// readAnswer returns the one object of an answer. Broken characters in its strings are replaced: the answer is paid for.
func readAnswer(answer []byte) (object []byte, ok bool) {
	object = blank(answer)
	if kind(object) != '{' {
		return nil, false
	}
	if jsontext.Value(object).IsValid(strictly...) {
		return object, true
	}
	object, err := jsontext.AppendFormat(nil, object, leniently...)
	return object, err == nil
}
