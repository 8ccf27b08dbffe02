package console

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/policy/teams"
)

// mostJSON bounds a request's body.
const mostJSON = 256 << 10

// errBody is the problem of a body that is not one strict JSON object. It never quotes the body.
var errBody = invalid("body", "not one JSON object", "a JSON object in UTF-8, each member once, its values as the documentation says")

// body reads the body: one JSON object without repeated members.
func (c *call) body() ([]byte, error) {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, errMedia
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, mostJSON))
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

// into decodes the body into a struct, which must have all of its members.
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

// isExact reports whether the members of an object, or of a list's objects, have exactly the names of a struct's fields. The decoder
// ignores case: it accepts NOTE for note, even if both are there.
func isExact(text []byte, of reflect.Type) bool {
	var list []json.RawMessage
	if of.Kind() == reflect.Slice && json.Unmarshal(text, &list) == nil {
		return !slices.ContainsFunc(list, func(item json.RawMessage) bool { return !isExact(item, of.Elem()) })
	}
	var members map[string]json.RawMessage
	if of.Kind() != reflect.Struct || json.Unmarshal(text, &members) != nil {
		return true // the decoder accepted it, so it is a single value
	}
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		delete(members, name)
	}
	return len(members) == 0
}

// The elements of a page: the default and the bound.
const (
	usualPage = 100
	mostPage  = 1000
)

// List is a page of a list. Next is the cursor of the next page; nil: this is the last one.
type List[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"`
}

// list makes a page; next is the cursor's text, empty for none.
func list[T any](data []T, next string) List[T] {
	l := List[T]{Data: data}
	if data == nil {
		l.Data = []T{}
	}
	if next != "" {
		text := base64.RawURLEncoding.EncodeToString([]byte(next))
		l.Next = &text
	}
	return l
}

var errCursor = &teams.Problem{
	Code: teams.CodeInvalid, Field: "cursor", Text: "not a cursor", Allowed: "next of the page before", Advice: "begin without a cursor",
}

// page parses the query's cursor, empty for none, and the bound of the page's elements.
func (c *call) page() (cursor string, most int, err error) {
	text, err := base64.RawURLEncoding.DecodeString(c.query.Get("cursor"))
	if err != nil {
		return "", 0, errCursor
	}
	most, err = c.number("limit", 1, mostPage)
	return string(text), cmp.Or(most, usualPage), err
}

// number returns a whole number of the query; 0: not given.
func (c *call) number(name string, low, high int) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, invalid(name, "not such a number", "a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	return n, nil
}
