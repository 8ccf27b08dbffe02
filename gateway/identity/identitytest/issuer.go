// Package identitytest is an issuer of tokens on a real socket, for tests.
package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// Issuer is an issuer. Its URL is that of its server.
type Issuer struct {
	*httptest.Server
	Calls atomic.Int64 // of its documents
	Down  atomic.Bool  // it answers 502

	mu   sync.Mutex
	keys []jose.JSONWebKey
}

// New starts an issuer without keys, until the test ends.
func New(t testing.TB) *Issuer {
	i := new(Issuer)
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	return i
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.Calls.Add(1)
	if i.Down.Load() {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys})
	default:
		http.NotFound(w, r)
	}
}

// Offer replaces the keys that the issuer publishes.
func (i *Issuer) Offer(keys ...jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Signer has a private key and its public half.
type Signer struct {
	Private crypto.Signer
	jose.JSONWebKey
}

// NewECDSA makes a key for ES256.
func NewECDSA(t testing.TB, kid string) Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Signer{private, jose.JSONWebKey{Key: private.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"}}
}

// NewRSA makes a key for RS256.
func NewRSA(t testing.TB, kid string) Signer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return Signer{private, jose.JSONWebKey{Key: private.Public(), KeyID: kid, Use: "sig"}}
}

// Claims are those of a token.
type Claims map[string]any

// Sign makes a token. Headers are added to its head.
func Sign(t testing.TB, algorithm string, key any, kid string, c Claims, headers ...string) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	for at := 0; at < len(headers); at += 2 {
		options = options.WithHeader(jose.HeaderKey(headers[at]), headers[at+1])
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	return SignWith(t, s, c)
}

// SignWith makes a token with any signer.
func SignWith(t testing.TB, s jose.Signer, c Claims) string {
	t.Helper()
	payload, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
