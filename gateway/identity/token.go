package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
	head, body := decode(parts[0]), decode(parts[1])
	if json.Unmarshal(head, &header) != nil {
		return t, ErrForm
	}
	if !isPlain(body) {
		return t, ErrClaims
	}
	if json.Unmarshal(body, &t) != nil {
		return t, ErrForm
	}
	t.algorithm = header.Algorithm
	return t, nil
}

// decode decodes one part of a token; nil: it cannot be decoded.
func decode(part string) []byte {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return nil
	}
	return text
}

// isPlain reports whether all readers find the same claims. Go's decoder, which go-oidc uses, takes AUD for aud, and the last of
// two; an issuer may let its clients choose further claims.
func isPlain(text jsontext.Value) bool {
	var claims map[string]json.RawMessage
	if !text.IsValid() || json.Unmarshal(text, &claims) != nil {
		return false
	}
	for name := range claims {
		for _, read := range []string{"iss", "aud", "exp", "iat", "nbf"} {
			if name != read && strings.EqualFold(name, read) {
				return false
			}
		}
	}
	return true
}
