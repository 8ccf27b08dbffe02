package identity_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sluice/gateway/identity"
	"sluice/gateway/identity/identitytest"
)

// TestHeadersThatChangeTheReading: RFC 7797 forbids b64 in a JWT, because a signature over another text could pass for one. RFC 7519
// has no extension that a reader must know.
func TestHeadersThatChangeTheReading(t *testing.T) {
	s := newStand(t)
	for about, headers := range map[string]map[jose.HeaderKey]any{
		"an unencoded payload":    {"crit": []string{"b64"}, "b64": false},
		"b64 that is true":        {"b64": true},
		"an unknown extension":    {"crit": []string{"x"}, "x": 1},
		"no extension":            {"crit": []string{}},
		"extensions without list": {"crit": nil},
	} {
		options := (&jose.SignerOptions{}).WithHeader("kid", "one")
		for name, value := range headers {
			options.WithHeader(name, value)
		}
		signing, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key.Private}, options)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := s.Identify(t.Context(), identitytest.SignWith(t, signing, s.claims(nil))); !errors.Is(err, identity.ErrForm) {
			t.Errorf("%s: %+v, %v", about, id, err)
		}
	}
}

// TestTimesBeyondReason: as a number of seconds they are in the future, and as a time of this machine in the past.
func TestTimesBeyondReason(t *testing.T) {
	s := newStand(t)
	iat, exp := s.clock().Unix(), s.clock().Add(time.Hour).Unix()
	for _, times := range []string{
		`"nbf":1e300`, `"nbf":9223372036854775807`, `"nbf":9223372036854775808`, `"nbf":1e400`, `"nbf":"1e300"`, `"nbf":253402300800`,
		`"iat":1e300`, `"exp":1e300`, `"iat":-1e300`,
	} {
		all := map[string]string{"iat": fmt.Sprintf(`"iat":%d`, iat), "exp": fmt.Sprintf(`"exp":%d`, exp), "nbf": `"nbf":0`}
		all[times[1:4]] = times
		text := fmt.Sprintf(`{"iss":%q,"aud":"sluice","sub":"system:serviceaccount:search:indexer",%s,%s,%s}`, s.URL, all["iat"], all["exp"], all["nbf"])
		if id, err := s.Identify(t.Context(), s.signed(t, text)); !errors.Is(err, identity.ErrFuture) {
			t.Errorf("%s: %+v, %v", times, id, err)
		}
	}
	text := fmt.Sprintf(`{"iss":%q,"aud":"sluice","sub":"system:serviceaccount:search:indexer","iat":%d.5,"exp":"%d"}`, s.URL, iat, exp)
	if _, err := s.Identify(t.Context(), s.signed(t, text)); err != nil {
		t.Errorf("times that some issuers write: %v", err)
	}
}
