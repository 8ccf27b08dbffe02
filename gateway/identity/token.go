package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// told is what a token says of itself before its signature is verified. It decides only whether, and by which issuer's keys,
// the token is verified.
type told struct {
	algorithm string

	Issuer   string   `json:"iss"`
	Audience audience `json:"aud"`
}

// audience is one string or a list of them.
type audience []string

// UnmarshalJSON reads both forms.
func (a *audience) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		*a = make(audience, 1)
		return json.Unmarshal(text, &(*a)[0])
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// read reads a token without verifying it.
func read(token string) (t told, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return t, ErrForm
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	if !decode(parts[0], &header) || !decode(parts[1], &t) {
		return t, ErrForm
	}
	t.algorithm = header.Algorithm
	return t, nil
}

// decode decodes one part of a token.
func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}
