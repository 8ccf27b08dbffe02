package oidc_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
	"sluice/policy/teams"
)

type headers = map[jose.HeaderKey]any

// publicPEM is a public key as text.
func publicPEM(t *testing.T, key oidctest.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// TestTokensAreRefused is the attack table: a token's fault, and its reason in the log.
func TestTokensAreRefused(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		rsa, other := oidctest.NewRSA("two"), oidctest.NewECDSA("one")
		w.Keys = append(w.Keys, rsa.JSONWebKey)
		valid := w.token(nil)
		parts := strings.Split(valid, ".")
		unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
		at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
		others := func(kid string, h headers) string {
			return oidctest.Sign("ES256", other.Private, kid, w.claims(nil), h)
		}
		text := func(audience string) string {
			return w.Sign(json.RawMessage(`{"iss":"` + w.URL + `",` + audience + `,"sub":"system:serviceaccount:search:indexer","iat":1,"exp":2}`))
		}
		for about, tt := range map[string]struct {
			token string
			want  error
		}{
			"no token":                  {"", oidc.ErrForm},
			"two parts":                 {parts[0] + "." + parts[1], oidc.ErrForm},
			"no base64":                 {"eyJ!.eyJ!.x", oidc.ErrForm},
			"too long":                  {w.token(claims{"x": strings.Repeat("x", 8<<10)}), oidc.ErrForm},
			"alg none":                  {unsigned, oidc.ErrAlgorithm},
			"alg none, signed":          {unsigned + parts[2], oidc.ErrAlgorithm},
			"HS256 with the public key": {oidctest.Sign("HS256", publicPEM(t, rsa), "two", w.claims(nil), nil), oidc.ErrAlgorithm},
			"an algorithm not listed":   {oidctest.Sign("RS512", rsa.Private, "two", w.claims(nil), nil), oidc.ErrAlgorithm},
			"another's key":             {others("one", nil), oidc.ErrSignature},
			"another's key, embedded":   {others("", headers{"jwk": other.JSONWebKey}), oidc.ErrSignature},
			"an unknown kid":            {others("three", nil), oidc.ErrSignature},
			"a path as kid":             {others("../../dev/null", nil), oidc.ErrSignature},
			"the kid of another kind":   {others("two", nil), oidc.ErrSignature},
			"an address of keys":        {others("one", headers{"jku": w.URL + "/keys"}), oidc.ErrSignature},
			"changed claims": {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+w.URL+`","aud":"sluice"}`)) +
				"." + parts[2], oidc.ErrSignature},
			"wrong issuer":             {w.token(claims{"iss": "https://evil.example"}), oidc.ErrIssuer},
			"issuer with a slash":      {w.token(claims{"iss": w.URL + "/"}), oidc.ErrIssuer},
			"no issuer":                {w.token(claims{"iss": nil}), oidc.ErrIssuer},
			"wrong audience":           {w.token(claims{"aud": "slui"}), oidc.ErrIssuer},
			"no audience":              {w.token(claims{"aud": nil}), oidc.ErrIssuer},
			"empty audience":           {w.token(claims{"aud": []string{}}), oidc.ErrIssuer},
			"expired":                  {w.token(claims{"iat": at(-2 * time.Hour), "exp": at(-time.Second)}), oidc.ErrExpired},
			"no end":                   {w.token(claims{"exp": nil}), oidc.ErrExpired},
			"an end that is no number": {w.token(claims{"exp": "tomorrow"}), oidc.ErrFuture},
			"made in the future":       {w.token(claims{"iat": at(time.Hour), "exp": at(2 * time.Hour)}), oidc.ErrFuture},
			"valid in the future":      {w.token(claims{"nbf": at(time.Hour), "exp": at(2 * time.Hour)}), oidc.ErrFuture},
			"valid for too long":       {w.token(claims{"exp": at(24*time.Hour + time.Second)}), oidc.ErrLife},
			"no beginning":             {w.token(claims{"iat": nil}), oidc.ErrLife},
			"no subject":               {w.token(claims{"sub": nil}), oidc.ErrSubject},
			"an unknown subject":       {w.token(claims{"sub": "system:serviceaccount:search:indexer2"}), oidc.ErrClaim},
			"a subject in capitals":    {w.token(claims{"sub": "SYSTEM:serviceaccount:search:indexer"}), oidc.ErrClaim},
			"an audience in capitals":  {w.token(claims{"aud": nil, "AUD": "sluice"}), oidc.ErrClaims},
			"another's and, in capitals, our audience": {text(`"aud":"other","AUD":"sluice"`), oidc.ErrClaims},
			"two audiences, each alone":                {text(`"aud":"other","aud":"sluice"`), oidc.ErrClaims},
			"an end in capitals":                       {w.token(claims{"exp": nil, "EXP": at(time.Hour)}), oidc.ErrClaims},
			"a beginning in capitals":                  {w.token(claims{"iat": nil, "Iat": at(0)}), oidc.ErrClaims},
			"an issuer with a long s":                  {w.token(claims{"iss": "https://evil.example", "is\u017f": w.URL}), oidc.ErrClaims},
			"a list of subjects": {w.token(claims{"sub": nil, "Sub": "system:serviceaccount:search:indexer"}),
				oidc.ErrSubject},
			// RFC 7797 forbids b64 in a JWT, because a signature over another text could pass for one. RFC 7519 has no extension that a
			// reader must know.
			"an unencoded payload": {oidctest.Sign("ES256", w.Key.Private, "one", w.claims(nil), headers{"crit": []string{"b64"}, "b64": false}),
				oidc.ErrForm},
			"b64 that is true": {oidctest.Sign("ES256", w.Key.Private, "one", w.claims(nil), headers{"b64": true}), oidc.ErrForm},
			"an unknown extension": {oidctest.Sign("ES256", w.Key.Private, "one", w.claims(nil), headers{"crit": []string{"x"}, "x": 1}),
				oidc.ErrForm},
			"no extension":            {oidctest.Sign("ES256", w.Key.Private, "one", w.claims(nil), headers{"crit": []string{}}), oidc.ErrForm},
			"extensions without list": {oidctest.Sign("ES256", w.Key.Private, "one", w.claims(nil), headers{"crit": nil}), oidc.ErrForm},
		} {
			if named, err := w.Identify(t.Context(), tt.token); !errors.Is(err, tt.want) || named != (oidc.Workload{}) {
				t.Errorf("%s: %+v, %v, want %v", about, named, err, tt.want)
			}
		}
		for about, token := range map[string]string{
			"ES256":               valid,
			"RS256":               oidctest.Sign("RS256", rsa.Private, "two", w.claims(nil), nil),
			"without kid":         oidctest.Sign("RS256", rsa.Private, "", w.claims(nil), nil),
			"for 24 hours":        w.token(claims{"exp": at(24 * time.Hour)}),
			"by a fast clock":     w.token(claims{"iat": at(time.Minute), "nbf": at(time.Minute)}),
			"with unknown claims": w.token(claims{"kubernetes.io": claims{"namespace": "search"}}),
		} {
			if named := w.takes(t, about, token); named.Team != "search" {
				t.Errorf("%s: %+v", about, named)
			}
		}
	})
}

// TestTimesBeyondReason: as a number of seconds they are in the future, and as a time of this machine in the past.
func TestTimesBeyondReason(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		iat, exp := time.Now().Unix(), time.Now().Add(time.Hour).Unix()
		token := func(times string) string {
			return w.Sign(json.RawMessage(fmt.Sprintf(`{"iss":%q,"aud":"sluice","sub":"system:serviceaccount:search:indexer",%s}`, w.URL, times)))
		}
		for _, times := range []string{
			`"nbf":1e300`, `"nbf":9223372036854775807`, `"nbf":9223372036854775808`, `"nbf":1e400`, `"nbf":"1e300"`, `"nbf":253402300800`,
			`"iat":1e300`, `"exp":1e300`, `"iat":-1e300`,
		} {
			all := map[string]string{"iat": fmt.Sprintf(`"iat":%d`, iat), "exp": fmt.Sprintf(`"exp":%d`, exp), "nbf": `"nbf":0`}
			all[times[1:4]] = times
			if named, err := w.Identify(t.Context(), token(all["iat"]+","+all["exp"]+","+all["nbf"])); !errors.Is(err, oidc.ErrFuture) {
				t.Errorf("%s: %+v, %v", times, named, err)
			}
		}
		w.takes(t, "times that some issuers write", token(fmt.Sprintf(`"iat":%d.5,"exp":"%d"`, iat, exp)))
	})
}

// TestATokenOfNobody: the team may be named by another claim, but the log needs the subject.
func TestATokenOfNobody(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		byGroup := *w.list[0]
		byGroup.Claim, byGroup.Teams = "group", map[string]string{"m": "maps"}
		w.Follow([]*teams.Issuer{&byGroup})
		if named := w.takes(t, "with a subject", w.token(claims{"group": "m", "azp": "a workload"})); named.Team != "maps" {
			t.Errorf("with a subject: %+v", named)
		}
		for _, subject := range []any{nil, ""} {
			if named, err := w.Identify(t.Context(), w.token(claims{"group": "m", "sub": subject})); !errors.Is(err, oidc.ErrSubject) {
				t.Errorf("subject %v: %+v, %v", subject, named, err)
			}
		}
	})
}
