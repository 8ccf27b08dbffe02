package oidc

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/policy/teams"
)

// maxKeyTries is how many keys are tried for a token without kid.
const maxKeyTries = 16

// Errors of a token, for the log. None contains a part of it.
var (
	ErrForm      = errors.New("the token is not a signed JWT of at most 8 KiB, without crit and b64")
	ErrClaims    = errors.New("the token's claims are not a JSON object with each name once, and iss, aud, exp, iat and nbf in these letters")
	ErrIssuer    = errors.New("the token's issuer and audience are not in the teams file")
	ErrAlgorithm = errors.New("the token's algorithm is not one that the teams file allows for its issuer")
	ErrKeys      = errors.New("the issuer's keys cannot be fetched")
	ErrSignature = errors.New("the token's signature is not by a key of its issuer")
	ErrExpired   = errors.New("the token has expired, or has no expiry")
	ErrFuture    = errors.New("the token is not valid yet, or its times cannot be read")
	ErrLife      = errors.New("the token is valid for more than 24 hours, or has no time of issue")
	ErrSubject   = errors.New("the token has no subject")
	ErrClaim     = errors.New("the token has no claim that the teams file gives a team")
)

// unverified is what a token claims before its signature is verified. It decides only whether, and by which issuer's keys, the
// token is verified.
type unverified struct {
	raw, algorithm string

	Issuer   string   `json:"iss"`
	Audience audience `json:"aud"`
	Issued   moment   `json:"iat"`
	Begins   moment   `json:"nbf"`
	Ends     moment   `json:"exp"`
}

// moment is a time in seconds since 1970. It is true if the time is beyond the year 9999: go-oidc turns a time far enough in the
// future into one in the past.
type moment bool

// lastSecond is the end of the year 9999.
const lastSecond = 253402300799

// UnmarshalJSON ignores values that are not numbers: go-oidc refuses them.
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
func read(token string) (t unverified, err error) {
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
	// A JWT has no b64 (RFC 7797): otherwise a signature over another text would pass. No extensions are supported.
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
	t.raw, t.algorithm = token, header.Algorithm
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

// isPlain reports whether all parsers read the same claims. Go's decoder, which go-oidc uses, takes AUD for aud and the last of two
// equal names, and an issuer may let its clients choose further claims.
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

// verify verifies a token with go-oidc, and adds the time that it waited for the issuer. go-oidc's errors can quote the token, so ours
// replace them.
func (i *issuer) verify(ctx context.Context, t unverified, audience string, algorithms []string, waited *time.Duration) (*oidc.IDToken,
	error,
) {
	if !slices.Contains(algorithms, t.algorithm) {
		return nil, ErrAlgorithm
	}
	keys, now := &signature{issuer: i, waited: waited}, i.now()
	config := &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, Now: func() time.Time { return now }}
	verified, err := oidc.NewVerifier(i.url, keys, config).Verify(ctx, t.raw)
	var expired *oidc.TokenExpiredError
	switch {
	case err == nil:
		return verified, nil
	case keys.err != nil:
		return nil, keys.err
	case errors.As(err, &expired):
		return nil, ErrExpired
	}
	return nil, ErrFuture // callers that depend on issuer and audience have compared them
}

// signature checks a token's signature. It keeps the reason of a refusal, because go-oidc passes on only the text.
type signature struct {
	issuer *issuer
	waited *time.Duration
	err    error
}

// VerifySignature implements [oidc.KeySet].
func (s *signature) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	defer func() { s.err = err }()
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, ErrForm
	}
	keys, ok := s.issuer.current(ctx, s.waited)
	if !ok {
		return nil, ErrKeys
	}
	payload, found := check(signed, keys)
	if !found { // a new key of the issuer, or an invented one
		if keys, ok = s.issuer.newer(ctx, s.waited); ok {
			payload, _ = check(signed, keys)
		}
	}
	if payload == nil {
		return nil, ErrSignature
	}
	return payload, nil
}

// algorithms has those that any issuer may use; the issuer's own were checked before.
var algorithms = func() (all []jose.SignatureAlgorithm) {
	for _, name := range teams.Algorithms {
		all = append(all, jose.SignatureAlgorithm(name))
	}
	return all
}()

// check verifies a signature with the keys that the token may mean; found: there was such a key.
func check(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) (payload []byte, found bool) {
	header := signed.Signatures[0].Protected
	tries := 0
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if tries++; tries > maxKeyTries {
			break
		}
		found = true
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, found
}
