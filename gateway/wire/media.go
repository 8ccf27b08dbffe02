package wire

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"sluice/policy"
)

// errCompressed and the other errors of this file are for the client, word for word.
var errCompressed = errors.New("Content-Encoding: compressed bodies are not allowed; send the body uncompressed, without this header.") //nolint:revive,staticcheck // a whole sentence for the client

// DescribesOnce checks the headers that describe a body which is forwarded unread. If a header were sent twice, the service might
// read either value.
func DescribesOnce(h http.Header) error {
	for _, name := range [...]string{"Content-Type", "Content-Encoding"} {
		if n := len(h[name]); n > 1 {
			return fmt.Errorf("%s: given %d times, allowed once.", name, n)
		}
	}
	return nil
}

// media checks that the headers describe the body once, uncompressed and of a media type. It returns the type's parameters.
func media(h http.Header, want string) (map[string]string, error) {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && (len(encoding) > 1 || !strings.EqualFold(encoding[0], "identity")) {
		return nil, errCompressed
	}
	types := h["Content-Type"]
	if len(types) == 1 && types[0] == want { // nearly every request; parsing the media type allocates
		return nil, nil
	}
	if len(types) != 1 {
		return nil, fmt.Errorf("Content-Type: given %d times, allowed once: %s.", len(types), want)
	}
	given, params, err := mime.ParseMediaType(types[0])
	if err != nil || given != want {
		return nil, fmt.Errorf("Content-Type: given %s, allowed %s.", policy.Brief(types[0]), want)
	}
	return params, nil
}

// DescribesForm checks that the body is a form.
func DescribesForm(h http.Header) error {
	params, err := media(h, "multipart/form-data")
	if err == nil && params["boundary"] == "" {
		err = fmt.Errorf("Content-Type: given %s, allowed multipart/form-data with a boundary.", policy.Brief(h["Content-Type"][0]))
	}
	return err
}

// DescribesJSON checks that the body is JSON in UTF-8.
func DescribesJSON(h http.Header) error {
	params, err := media(h, "application/json")
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		err = fmt.Errorf("Content-Type: given the charset %s, allowed utf-8.", policy.Brief(charset))
	}
	return err
}
