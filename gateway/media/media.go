// Package media checks what the headers of a request say about its body, before the body is read. Its errors are sentences for clients.
package media

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"sluice/policy"
)

// Once checks the headers that describe a body that is forwarded unread. If a header were sent twice, the service might read either
// value.
func Once(h http.Header) error {
	for _, name := range [...]string{"Content-Type", "Content-Encoding"} {
		if n := len(h[name]); n > 1 {
			return fmt.Errorf("%s: given %d times, allowed once", name, n)
		}
	}
	return nil
}

// described checks that the headers describe the body once, uncompressed and of a media type. It returns the type's parameters.
func described(h http.Header, want string) (map[string]string, error) {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && (len(encoding) > 1 || !strings.EqualFold(encoding[0], "identity")) {
		return nil, errors.New("Content-Encoding: compressed bodies are not allowed; send the body uncompressed, without this header")
	}
	types := h["Content-Type"]
	if len(types) == 1 && types[0] == want { // nearly every request; parsing the media type allocates
		return nil, nil
	}
	if len(types) != 1 {
		return nil, fmt.Errorf("Content-Type: given %d times, allowed once: %s", len(types), want)
	}
	given, params, err := mime.ParseMediaType(types[0])
	if err != nil || given != want {
		return nil, fmt.Errorf("Content-Type: given %s, allowed %s", policy.Brief(types[0]), want)
	}
	return params, nil
}

// Form checks that the body is a form.
func Form(h http.Header) error {
	params, err := described(h, "multipart/form-data")
	if err == nil && params["boundary"] == "" {
		err = fmt.Errorf("Content-Type: given %s, allowed multipart/form-data with a boundary", policy.Brief(h["Content-Type"][0]))
	}
	return err
}

// JSON checks that the body is JSON in UTF-8.
func JSON(h http.Header) error {
	params, err := described(h, "application/json")
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		err = fmt.Errorf("Content-Type: given the charset %s, allowed utf-8", policy.Brief(charset))
	}
	return err
}
