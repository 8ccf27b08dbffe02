package identity_test

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"sluice/gateway/identity"
	"sluice/gateway/identity/identitytest"
	"sluice/policy/teams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestATokenNamesItsTeam(t *testing.T) {
	s := newStand(t)
	first, err := s.Identify(t.Context(), s.token(t, nil))
	if err != nil || first.Team != "search" || !strings.HasPrefix(first.Key, "jwt:") || len(first.Key) != 16 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := s.Identify(t.Context(), s.token(t, claims{"aud": "sluice"}))
	if err != nil || again != first {
		t.Errorf("another token of the same subject is %+v, want %+v: %v", again, first, err)
	}
	if n := s.Calls.Load(); n != 2 {
		t.Errorf("%d calls of the issuer, want its configuration and its keys", n)
	}
}

// TestTokensAreRefused is the attack table: what is wrong with a token, and what the log says.
func TestTokensAreRefused(t *testing.T) {
	s := newStand(t)
	rsa, other := identitytest.NewRSA(t, "two"), identitytest.NewECDSA(t, "one")
	s.Offer(s.key.JSONWebKey, rsa.JSONWebKey)
	der, err := x509.MarshalPKIXPublicKey(rsa.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	valid := s.token(t, nil)
	parts := strings.Split(valid, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	at := func(d time.Duration) int64 { return s.clock().Add(d).Unix() }
	for about, tt := range map[string]struct {
		token string
		want  error
	}{
		"no token":                  {"", identity.ErrForm},
		"two parts":                 {parts[0] + "." + parts[1], identity.ErrForm},
		"no base64":                 {"eyJ!.eyJ!.x", identity.ErrForm},
		"too long":                  {s.token(t, claims{"x": strings.Repeat("x", 8<<10)}), identity.ErrForm},
		"alg none":                  {unsigned, identity.ErrAlgorithm},
		"alg none, signed":          {unsigned + parts[2], identity.ErrAlgorithm},
		"HS256 with the public key": {identitytest.Sign(t, "HS256", public, "two", s.claims(nil)), identity.ErrAlgorithm},
		"an algorithm not listed":   {identitytest.Sign(t, "RS512", rsa.Private, "two", s.claims(nil)), identity.ErrAlgorithm},
		"another's key":             {identitytest.Sign(t, "ES256", other.Private, "one", s.claims(nil)), identity.ErrSignature},
		"another's key, embedded":   {embedded(t, other, s.claims(nil)), identity.ErrSignature},
		"an unknown kid":            {identitytest.Sign(t, "ES256", other.Private, "three", s.claims(nil)), identity.ErrSignature},
		"a path as kid":             {identitytest.Sign(t, "ES256", other.Private, "../../dev/null", s.claims(nil)), identity.ErrSignature},
		"the kid of another kind":   {identitytest.Sign(t, "ES256", other.Private, "two", s.claims(nil)), identity.ErrSignature},
		"an address of keys":        {identitytest.Sign(t, "ES256", other.Private, "one", s.claims(nil), "jku", s.URL+"/keys"), identity.ErrSignature},
		"changed claims":            {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+s.URL+`","aud":"sluice"}`)) + "." + parts[2], identity.ErrSignature},
		"wrong issuer":              {s.token(t, claims{"iss": "https://evil.example"}), identity.ErrIssuer},
		"issuer with a slash":       {s.token(t, claims{"iss": s.URL + "/"}), identity.ErrIssuer},
		"no issuer":                 {s.token(t, claims{"iss": nil}), identity.ErrIssuer},
		"wrong audience":            {s.token(t, claims{"aud": "slui"}), identity.ErrIssuer},
		"no audience":               {s.token(t, claims{"aud": nil}), identity.ErrIssuer},
		"empty audience":            {s.token(t, claims{"aud": []string{}}), identity.ErrIssuer},
		"expired":                   {s.token(t, claims{"iat": at(-2 * time.Hour), "exp": at(-time.Second)}), identity.ErrExpired},
		"no end":                    {s.token(t, claims{"exp": nil}), identity.ErrExpired},
		"an end that is no number":  {s.token(t, claims{"exp": "tomorrow"}), identity.ErrFuture},
		"made in the future":        {s.token(t, claims{"iat": at(time.Hour), "exp": at(2 * time.Hour)}), identity.ErrFuture},
		"valid in the future":       {s.token(t, claims{"nbf": at(time.Hour), "exp": at(2 * time.Hour)}), identity.ErrFuture},
		"valid for too long":        {s.token(t, claims{"exp": at(24*time.Hour + time.Second)}), identity.ErrLife},
		"no beginning":              {s.token(t, claims{"iat": nil}), identity.ErrLife},
		"no subject":                {s.token(t, claims{"sub": nil}), identity.ErrSubject},
		"an unknown subject":        {s.token(t, claims{"sub": "system:serviceaccount:search:indexer2"}), identity.ErrClaim},
		"a subject in capitals":     {s.token(t, claims{"sub": "SYSTEM:serviceaccount:search:indexer"}), identity.ErrClaim},
		"an audience in capitals":   {s.token(t, claims{"aud": nil, "AUD": "sluice"}), identity.ErrClaims},
		"another's and, in capitals, our audience": {s.signed(t, `{"iss":"`+s.URL+`","aud":"other","AUD":"sluice","sub":"system:serviceaccount:search:indexer","iat":1,"exp":2}`), identity.ErrClaims},
		"two audiences, each alone":                {s.signed(t, `{"iss":"`+s.URL+`","aud":"other","aud":"sluice","sub":"system:serviceaccount:search:indexer","iat":1,"exp":2}`), identity.ErrClaims},
		"an end in capitals":                       {s.token(t, claims{"exp": nil, "EXP": at(time.Hour)}), identity.ErrClaims},
		"a beginning in capitals":                  {s.token(t, claims{"iat": nil, "Iat": at(0)}), identity.ErrClaims},
		"an issuer with a long s":                  {s.token(t, claims{"iss": "https://evil.example", "is\u017f": s.URL}), identity.ErrClaims},
		"a list of subjects":                       {s.token(t, claims{"sub": nil, "Sub": "system:serviceaccount:search:indexer"}), identity.ErrSubject},
	} {
		id, err := s.Identify(t.Context(), tt.token)
		if !errors.Is(err, tt.want) || id != (identity.Identity{}) {
			t.Errorf("%s: %+v, %v, want %v", about, id, err, tt.want)
		}
	}
	for about, token := range map[string]string{
		"ES256":               valid,
		"RS256":               identitytest.Sign(t, "RS256", rsa.Private, "two", s.claims(nil)),
		"without kid":         identitytest.Sign(t, "RS256", rsa.Private, "", s.claims(nil)),
		"for 24 hours":        s.token(t, claims{"exp": at(24 * time.Hour)}),
		"by a fast clock":     s.token(t, claims{"iat": at(time.Minute), "nbf": at(time.Minute)}),
		"with unknown claims": s.token(t, claims{"kubernetes.io": claims{"namespace": "search"}}),
	} {
		if id, err := s.Identify(t.Context(), token); err != nil || id.Team != "search" {
			t.Errorf("%s: %+v, %v", about, id, err)
		}
	}
}

// embedded signs with a key that the token itself brings.
func embedded(t *testing.T, key identitytest.Signer, c claims) string {
	t.Helper()
	signing, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key.Private}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	return identitytest.SignWith(t, signing, c)
}

// TestKeysAreReplaced: a new key of the issuer serves at once, a withdrawn one no longer after five minutes.
func TestKeysAreReplaced(t *testing.T) {
	s := newStand(t)
	if _, err := s.Identify(t.Context(), s.token(t, nil)); err != nil {
		t.Fatal(err)
	}
	next := identitytest.NewECDSA(t, "next")
	s.Offer(next.JSONWebKey)
	s.pass(time.Minute)
	if _, err := s.Identify(t.Context(), identitytest.Sign(t, "ES256", next.Private, "next", s.claims(nil))); err != nil {
		t.Errorf("a new key: %v", err)
	}
	if _, err := s.Identify(t.Context(), s.token(t, nil)); !errors.Is(err, identity.ErrSignature) {
		t.Errorf("a withdrawn key: %v", err)
	}
}

func TestAWithdrawnKeyEnds(t *testing.T) {
	s := newStand(t)
	token := s.token(t, nil)
	if _, err := s.Identify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	s.Offer(identitytest.NewECDSA(t, "next").JSONWebKey)
	s.pass(5*time.Minute - time.Second)
	if _, err := s.Identify(t.Context(), token); err != nil {
		t.Errorf("before five minutes: %v", err)
	}
	s.pass(time.Second)
	_, _ = s.Identify(t.Context(), token) // the keys are fetched beside it
	s.Verifier.Close()
	s.pass(5 * time.Minute)
	if _, err := s.Identify(t.Context(), token); !errors.Is(err, identity.ErrSignature) {
		t.Errorf("a withdrawn key: %v", err)
	}
}

// TestARememberedTokenEnds when it says so, and not when it would be verified again.
func TestARememberedTokenEnds(t *testing.T) {
	s := newStand(t)
	token := s.token(t, claims{"exp": s.clock().Add(time.Minute).Unix()})
	for range 2 {
		if _, err := s.Identify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		s.pass(59 * time.Second / 2)
	}
	s.pass(2 * time.Second)
	if id, err := s.Identify(t.Context(), token); !errors.Is(err, identity.ErrExpired) {
		t.Errorf("after its end: %+v, %v", id, err)
	}
}

// TestATokenOfNobody: the team may be named by another claim, but the log needs the subject.
func TestATokenOfNobody(t *testing.T) {
	s := newStand(t)
	byGroup := *s.list[0]
	byGroup.Claim, byGroup.Teams = "group", map[string]string{"m": "maps"}
	s.Follow([]*teams.Issuer{&byGroup})
	if id, err := s.Identify(t.Context(), s.token(t, claims{"group": "m", "azp": "a workload"})); err != nil || id.Team != "maps" {
		t.Errorf("with a subject: %+v, %v", id, err)
	}
	for _, subject := range []any{nil, ""} {
		if id, err := s.Identify(t.Context(), s.token(t, claims{"group": "m", "sub": subject})); !errors.Is(err, identity.ErrSubject) {
			t.Errorf("subject %v: %+v, %v", subject, id, err)
		}
	}
}

// TestTheIssuerIsAway: the last keys serve for an hour, and no longer.
func TestTheIssuerIsAway(t *testing.T) {
	s := newStand(t)
	if _, err := s.Identify(t.Context(), s.token(t, nil)); err != nil {
		t.Fatal(err)
	}
	s.Down.Store(true)
	s.pass(time.Hour - time.Second)
	if _, err := s.Identify(t.Context(), s.token(t, nil)); err != nil {
		t.Errorf("within the hour: %v", err)
	}
	s.Verifier.Close()
	s.pass(time.Second)
	if _, err := s.Identify(t.Context(), s.token(t, nil)); !errors.Is(err, identity.ErrKeys) {
		t.Errorf("after an hour: %v", err)
	}
	s.Down.Store(false)
	s.pass(10 * time.Second)
	if _, err := s.Identify(t.Context(), s.token(t, nil)); err != nil {
		t.Errorf("back again: %v", err)
	}
}

// TestTheIssuerIsSpared: whatever tokens arrive, it is called twice in ten seconds at most.
func TestTheIssuerIsSpared(t *testing.T) {
	s := newStand(t)
	s.Down.Store(true)
	strange := identitytest.NewECDSA(t, "x")
	for _, down := range []bool{true, false} {
		s.Down.Store(down)
		s.pass(time.Minute)
		s.Calls.Store(0)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					_, _ = s.Identify(t.Context(), s.token(t, nil))
					_, _ = s.Identify(t.Context(), identitytest.Sign(t, "ES256", strange.Private, rand.Text(), s.claims(nil)))
				}
			})
		}
		all.Wait()
		if n := s.Calls.Load(); n > 2 {
			t.Errorf("%d calls of the issuer, want at most its configuration and its keys", n)
		}
	}
}

// TestFollow: another teams file counts at once for tokens that were verified, and the keys need not be fetched again.
func TestFollow(t *testing.T) {
	s := newStand(t)
	token := s.token(t, nil)
	if _, err := s.Identify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	changed := *s.list[0]
	changed.Teams = map[string]string{"system:serviceaccount:search:indexer": "maps"}
	s.Follow([]*teams.Issuer{&changed})
	if id, err := s.Identify(t.Context(), token); err != nil || id.Team != "maps" {
		t.Errorf("%+v, %v", id, err)
	}
	if n := s.Calls.Load(); n != 2 {
		t.Errorf("%d calls of the issuer, want 2", n)
	}
	s.Follow(nil)
	if id, err := s.Identify(t.Context(), token); err == nil {
		t.Errorf("without issuers: %+v", id)
	}
}

// TestAnIssuerOfTwoAudiences has its teams apart.
func TestAnIssuerOfTwoAudiences(t *testing.T) {
	s := newStand(t)
	second := *s.list[0]
	second.Audience, second.Claim, second.Teams = "sluice-maps", "group", map[string]string{"m": "maps"}
	s.Follow([]*teams.Issuer{s.list[0], &second})
	for about, tt := range map[string]struct {
		changes claims
		want    string
	}{
		"first":                             {nil, "search"},
		"second":                            {claims{"aud": "sluice-maps", "group": "m"}, "maps"},
		"both, with a claim of the second":  {claims{"aud": []string{"sluice", "sluice-maps"}, "sub": "x", "group": "m"}, "maps"},
		"first, with a claim of the second": {claims{"sub": "x", "group": "m"}, ""},
	} {
		id, err := s.Identify(t.Context(), s.token(t, tt.changes))
		if id.Team != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %+v, %v", about, id, err)
		}
	}
}

// TestDocumentsAreBounded: an issuer that misbehaves gives no keys, and nothing of it is followed.
func TestDocumentsAreBounded(t *testing.T) {
	elsewhere := newStand(t)
	for about, handler := range map[string]http.HandlerFunc{
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"another issuer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example","jwks_uri":"` + elsewhere.URL + `/keys"}`))
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		},
		"larger than 1 MiB": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"http://` + r.Host + `","jwks_uri":"` + elsewhere.URL + `/keys","x":"` + strings.Repeat("x", 1<<20) + `"}`))
		},
		"keys in clear text elsewhere": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"http://` + r.Host + `","jwks_uri":"http://keys.example/keys"}`))
		},
		"no keys": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"strange"}],"issuer":"http://` + r.Host + `","jwks_uri":"http://` + r.Host + `/keys"}`))
		},
	} {
		server := httptest.NewServer(handler)
		s := newStand(t)
		changed := *s.list[0]
		changed.URL = server.URL
		s.Follow([]*teams.Issuer{&changed})
		if id, err := s.Identify(t.Context(), s.token(t, claims{"iss": server.URL})); !errors.Is(err, identity.ErrKeys) {
			t.Errorf("%s: %+v, %v", about, id, err)
		}
		server.Close()
	}
}
