package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// mostBody bounds a request's body.
const mostBody = 256 << 10

// errBody is the error of a body that is not one strict JSON object. It shows nothing of the body.
var errBody = invalid("body", "not one JSON object", "a JSON object in UTF-8, each member once, its values as the documentation says")

// body reads the body: one JSON object without repeated members.
func (c *call) body() ([]byte, error) {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, errMedia
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, mostBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errLarge
	case err != nil:
		return nil, errBody
	}
	value := jsontext.Value(bytes.TrimSpace(text))
	if !value.IsValid() || value.Kind() != '{' {
		return nil, errBody
	}
	return value, nil
}

// into reads a body whose members are those of a struct.
func (c *call) into(value any) error {
	text, err := c.body()
	if err != nil {
		return err
	}
	return decode(text, value)
}

func decode(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(value) != nil || !isExact(text, reflect.TypeOf(value).Elem()) {
		return errBody
	}
	return nil
}

// isExact reports whether the members of an object, or of each of a list, are named letter for letter as in a struct. The decoder
// takes NOTE for note, also beside it.
func isExact(text []byte, of reflect.Type) bool {
	var list []json.RawMessage
	if of.Kind() == reflect.Slice && json.Unmarshal(text, &list) == nil {
		return !slices.ContainsFunc(list, func(item json.RawMessage) bool { return !isExact(item, of.Elem()) })
	}
	var members map[string]json.RawMessage
	if of.Kind() != reflect.Struct || json.Unmarshal(text, &members) != nil {
		return true // the decoder took it, so it is a single value
	}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		delete(members, name)
	}
	return len(members) == 0
}
