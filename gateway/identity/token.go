package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// told is what a token says of itself before its signature is verified. It decides only whether, and by which issuer's keys,
// the token is verified.
type told struct {
	algorithm string

	Issuer   string   `json:"iss"`
	Audience audience `json:"aud"`
	Issued   moment   `json:"iat"`
	Begins   moment   `json:"nbf"`
	Ends     moment   `json:"exp"`
}

// moment is a time that is written as seconds since 1970. It is true if the time is beyond the years that clocks have: go-oidc makes a
// time in the past of one that is far enough in the future.
type moment bool

// lastSecond is the end of the year 9999.
const lastSecond = 253402300799

// UnmarshalJSON leaves it to go-oidc to refuse what is no number.
func (m *moment) UnmarshalJSON(text []byte) error {
	var number json.Number
	if json.Unmarshal(text, &number) != nil || number == "" {
		return nil
	}
	seconds, err := number.Float64()
	*m = moment(err != nil || math.Abs(seconds) > lastSecond)
	return nil
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
		Algorithm string          `json:"alg"`
		Critical  json.RawMessage `json:"crit"`
		Encoded   json.RawMessage `json:"b64"`
	}
	head, body := decode(parts[0]), decode(parts[1])
	// A JWT has no b64 (RFC 7797): else a signature over another text passes for one. No extension is known here.
	if json.Unmarshal(head, &header) != nil || header.Critical != nil || header.Encoded != nil {
		return t, ErrForm
	}
	if !isPlain(body) {
		return t, ErrClaims
	}
	if json.Unmarshal(body, &t) != nil {
		return t, ErrForm
	}
	if t.Issued || t.Begins || t.Ends {
		return t, ErrFuture
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
