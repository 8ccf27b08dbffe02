package identity_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sluice/gateway/identity"
	"sluice/gateway/identity/identitytest"
	"sluice/policy/teams"
)

type claims = identitytest.Claims

// stand is a verifier with one issuer and a clock of its own.
type stand struct {
	*identitytest.Issuer
	*identity.Verifier
	now  time.Time
	mu   sync.Mutex
	key  identitytest.Signer
	list []*teams.Issuer
}

func newStand(t testing.TB) *stand {
	s := &stand{Issuer: identitytest.New(t), now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), key: identitytest.NewECDSA(t, "one")}
	s.Offer(s.key.JSONWebKey)
	s.Verifier = identity.New(identity.Config{Now: s.clock})
	t.Cleanup(s.Verifier.Close)
	s.list = []*teams.Issuer{{
		URL: s.URL, Audience: "sluice", Algorithms: []string{"RS256", "ES256"}, Claim: "sub",
		Teams: map[string]string{"system:serviceaccount:search:indexer": "search"},
	}}
	s.Follow(s.list)
	return s
}

func (s *stand) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stand) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// claims are those of a valid token, with changes; a change to nil leaves a claim out.
func (s *stand) claims(changes claims) claims {
	c := claims{
		"iss": s.URL, "aud": []string{"other", "sluice"}, "sub": "system:serviceaccount:search:indexer",
		"iat": s.clock().Unix(), "nbf": s.clock().Unix(), "exp": s.clock().Add(time.Hour).Unix(), "jti": rand.Text(),
	}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func (s *stand) token(t testing.TB, changes claims) string {
	return identitytest.Sign(t, "ES256", s.key.Private, "one", s.claims(changes))
}

// signed is a token with this text as its claims.
func (s *stand) signed(t testing.TB, text string) string {
	t.Helper()
	signing, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key.Private}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signing.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
