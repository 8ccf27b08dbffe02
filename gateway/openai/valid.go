package openai

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Duplicate members are allowed here. They are refused in the objects that this package reads (see [names]); all others pass
// into the service's request, and the gateway refuses them when it reads that, at a bounded cost.
var (
	strictly  = []jsontext.Options{jsontext.AllowDuplicateNames(true)}
	leniently = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
)

// isDocument reports whether a text is one JSON document.
func isDocument(text []byte) bool {
	r := reader{text: text}
	r.skip()
	return r.end()
}

// readRequest returns the object that the body of a request is.
func readRequest(body []byte) ([]byte, error) {
	object := trimmed(body)
	switch {
	case isDocument(object):
		if kind(object) == '{' {
			return object, nil
		}
		return nil, badRequest("", "The body must be a JSON object.")
	case len(object) == 0:
		return nil, badRequest("", "The body is empty; a JSON object is needed.")
	}
	return nil, badRequest("", "The body is not a JSON document in UTF-8: it has a fault at byte %d.", faultAt(body))
}

// faultAt is the offset at which a body stops being a JSON document.
func faultAt(body []byte) int64 {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), strictly...) // it reads a Buffer in place, and would copy from another reader
	_, err := decoder.ReadValue()
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fault.ByteOffset
	}
	return decoder.InputOffset() // more follows the document
}

// readAnswer returns the object that an answer is. Invalid characters in its strings are replaced, because an answer that is
// paid for must not fail for them.
func readAnswer(answer []byte) (object []byte, ok bool) {
	object = trimmed(answer)
	if kind(object) != '{' {
		return nil, false
	}
	if isDocument(object) {
		return object, true
	}
	return repair(nil, object)
}

// repair appends an answer with its invalid characters replaced. It reports false if the answer is no object.
func repair(dst, answer []byte) ([]byte, bool) {
	if object := trimmed(answer); kind(object) == '{' {
		repaired, err := jsontext.AppendFormat(dst, object, leniently...)
		return repaired, err == nil
	}
	return dst, false
}
