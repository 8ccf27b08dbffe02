package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"

	"github.com/go-jose/go-jose/v4"
)

// Signer has a private key and its public half.
type Signer struct {
	Private crypto.Signer
	jose.JSONWebKey
}

// NewECDSA makes a key for ES256.
func NewECDSA(kid string) Signer {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	return Signer{private, jose.JSONWebKey{Key: private.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"}}
}

// NewRSA makes a key for RS256.
func NewRSA(kid string) Signer {
	private := must(rsa.GenerateKey(rand.Reader, 2048))
	return Signer{private, jose.JSONWebKey{Key: private.Public(), KeyID: kid, Use: "sig"}}
}

// Claims are the claims of a token.
type Claims map[string]any

// Sign makes a token. Its claims are any value that JSON can encode, or its text as [json.RawMessage]. An empty kid is left out.
func Sign(algorithm string, key any, kid string, claims any, headers map[jose.HeaderKey]any) string {
	options := &jose.SignerOptions{}
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	for name, value := range headers {
		options = options.WithHeader(name, value)
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: key}, options))
	payload, raw := claims.(json.RawMessage)
	if !raw {
		payload = must(json.Marshal(claims))
	}
	return must(must(signer.Sign(payload)).CompactSerialize())
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
