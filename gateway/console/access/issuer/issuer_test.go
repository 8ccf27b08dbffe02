package issuer_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access/issuer"
	"sluice/gateway/console/access/issuertest"
)

const verifier = "verifier-verifier-verifier-verifier-verifier"

// kit is an issuer and the client that is tested.
type kit struct {
	*issuertest.Issuer
	client *issuer.Issuer
}

func newKit() kit {
	i := issuertest.New("https://issuer.example", time.Now)
	i.Claims = alice()
	return kit{i, issuer.New(issuer.Config{
		URL: i.URL, ClientID: issuertest.ClientID, Secret: issuertest.ClientSecret, Redirect: "https://console.example/login/callback", Now: time.Now, Trip: i,
	})}
}

func alice() map[string]any {
	return map[string]any{"sub": "alice", "email": "alice@example.com", "email_verified": true, "groups": []string{"platform"}}
}

// begin is a browser that goes to the issuer and comes back with a code.
func (k kit) begin(t *testing.T) (code string) {
	t.Helper()
	address, err := k.client.Begin(t.Context(), "state", "nonce", verifier)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := k.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || back.Query().Get("state") != "state" {
		t.Fatalf("led to %v, %v", back, err)
	}
	return back.Query().Get("code")
}

func (k kit) login(t *testing.T) (issuer.Identity, issuer.Grant, error) {
	t.Helper()
	return k.client.Finish(t.Context(), k.begin(t), "nonce", verifier)
}

func TestAPersonIsKnownByTheIDToken(t *testing.T) {
	for about, tt := range map[string]struct {
		claims map[string]any
		bare   bool
		want   issuer.Identity
	}{
		"all claims":               {alice(), false, issuer.Identity{Subject: "alice", Email: "alice@example.com", Groups: []string{"platform"}}},
		"groups of userinfo alone": {alice(), true, issuer.Identity{Subject: "alice", Email: "alice@example.com", Groups: []string{"platform"}}},
		"an address that is not verified": {
			map[string]any{"sub": "alice", "email": "boss@example.com", "groups": []string{}}, false, issuer.Identity{Subject: "alice", Groups: []string{}},
		},
		"truth as a word, one group without a list": {
			map[string]any{"sub": "alice", "email": "alice@example.com", "email_verified": "true", "groups": "platform"}, false,
			issuer.Identity{Subject: "alice", Email: "alice@example.com", Groups: []string{"platform"}},
		},
		"falsehood as a word": {
			map[string]any{"sub": "alice", "email": "boss@example.com", "email_verified": "false"}, false, issuer.Identity{Subject: "alice"},
		},
	} {
		k := newKit()
		k.Claims, k.BareTokens = tt.claims, tt.bare
		got, grant, err := k.login(t)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || grant.Refresh == "" {
			t.Errorf("%s: %v, grant %v (-want +got):\n%s", about, err, grant.Refresh != "", diff)
		}
	}
}

// TestForgedTokensAreRefused: of each ID token the issuer's own claims are known to the attacker.
func TestForgedTokensAreRefused(t *testing.T) {
	for about, forge := range map[string]func(k kit, claims map[string]any) string{
		"alg none": func(_ kit, c map[string]any) string { return unsigned(c, `{"alg":"none"}`) + "." },
		"HS256 with the public key": func(k kit, c map[string]any) string {
			der, _ := x509.MarshalPKIXPublicKey(k.PublicKey())
			return signed(c, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		},
		"HS256 with the client's secret": func(_ kit, c map[string]any) string { return signed(c, []byte(issuertest.ClientSecret)) },
		"a key that the token brings":    func(k kit, c map[string]any) string { return issuertest.New(k.URL, time.Now).Sign(c) },
		"another issuer":                 func(k kit, c map[string]any) string { c["iss"] = "https://elsewhere.example"; return k.Sign(c) },
		"another audience":               func(k kit, c map[string]any) string { c["aud"] = "grafana"; return k.Sign(c) },
		"no audience":                    func(k kit, c map[string]any) string { delete(c, "aud"); return k.Sign(c) },
		"another party":                  func(k kit, c map[string]any) string { c["azp"] = "grafana"; return k.Sign(c) },
		"an empty party":                 func(k kit, c map[string]any) string { c["azp"] = ""; return k.Sign(c) },
		"a party that is no word":        func(k kit, c map[string]any) string { c["azp"] = 1; return k.Sign(c) },
		"two audiences without a party": func(k kit, c map[string]any) string {
			c["aud"] = []string{"grafana", issuertest.ClientID}
			return k.Sign(c)
		},
		"two audiences, another party": func(k kit, c map[string]any) string {
			c["aud"], c["azp"] = []string{issuertest.ClientID, "grafana"}, "grafana"
			return k.Sign(c)
		},
		"nobody's":                    func(k kit, c map[string]any) string { delete(c, "sub"); return k.Sign(c) },
		"an empty name":               func(k kit, c map[string]any) string { c["sub"] = ""; return k.Sign(c) },
		"expired":                     func(k kit, c map[string]any) string { c["exp"] = time.Now().Add(-time.Hour).Unix(); return k.Sign(c) },
		"without an end":              func(k kit, c map[string]any) string { delete(c, "exp"); return k.Sign(c) },
		"not valid yet":               func(k kit, c map[string]any) string { c["nbf"] = time.Now().Add(time.Hour).Unix(); return k.Sign(c) },
		"of another login":            func(k kit, c map[string]any) string { c["nonce"] = "another"; return k.Sign(c) },
		"without a nonce":             func(k kit, c map[string]any) string { delete(c, "nonce"); return k.Sign(c) },
		"of another access token":     func(k kit, c map[string]any) string { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA"; return k.Sign(c) },
		"changed after it was signed": func(k kit, c map[string]any) string { return strings.Replace(k.Sign(c), ".", ".A", 1) },
		"none at all":                 func(kit, map[string]any) string { return "" },
	} {
		k := newKit()
		k.Forge = func(claims map[string]any) string { return forge(k, claims) }
		if id, _, err := k.login(t); !errors.Is(err, issuer.ErrRefused) {
			t.Errorf("%s: %+v %v", about, id, err)
		}
	}
}

// TestATokenOfSeveralAudiences is taken if it says that it was made for this client.
func TestATokenOfSeveralAudiences(t *testing.T) {
	k := newKit()
	k.Forge = func(claims map[string]any) string {
		claims["aud"], claims["azp"] = []string{"grafana", issuertest.ClientID}, issuertest.ClientID
		return k.Sign(claims)
	}
	if id, _, err := k.login(t); err != nil || id.Subject != "alice" {
		t.Errorf("%+v, %v", id, err)
	}
}

func unsigned(claims map[string]any, header string) string {
	text, _ := json.Marshal(claims)
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(text)
}

func signed(claims map[string]any, key []byte) string {
	text := unsigned(claims, `{"alg":"HS256","kid":"one"}`)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestACodeWorksOnceAndWithItsVerifier(t *testing.T) {
	k := newKit()
	code := k.begin(t)
	if _, _, err := k.client.Finish(t.Context(), code, "nonce", verifier); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.client.Finish(t.Context(), code, "nonce", verifier); !errors.Is(err, issuer.ErrRefused) {
		t.Errorf("the second time: %v", err)
	}
	if _, _, err := k.client.Finish(t.Context(), k.begin(t), "nonce", strings.Repeat("x", 43)); !errors.Is(err, issuer.ErrRefused) {
		t.Errorf("with another verifier: %v", err)
	}
}

func TestThePersonIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for about, tt := range map[string]struct {
			before func(k kit)
			then   func(k kit)
			groups []string // nil: refused
			away   bool
		}{
			"unchanged":                     {nil, func(kit) {}, []string{"platform"}, false},
			"another group":                 {nil, func(k kit) { k.Claims["groups"] = []string{"sales"} }, []string{"sales"}, false},
			"closed account":                {nil, func(k kit) { k.Claims = nil }, nil, false},
			"another person":                {nil, func(k kit) { k.Claims["sub"] = "mallory" }, nil, false},
			"groups of userinfo":            {func(k kit) { k.BareTokens = true }, func(k kit) { k.Claims["groups"] = []string{"sales"} }, []string{"sales"}, false},
			"without refresh tokens":        {func(k kit) { k.NoRefresh = true }, func(k kit) { k.Claims["groups"] = []string{"sales"} }, []string{"sales"}, false},
			"closed, without refresh":       {func(k kit) { k.NoRefresh = true }, func(k kit) { k.Claims = nil }, nil, false},
			"after the access token's end":  {func(k kit) { k.NoRefresh = true }, func(kit) { time.Sleep(time.Hour) }, nil, false},
			"away":                          {nil, func(k kit) { k.Away = true }, nil, true},
			"a forged token at the refresh": {nil, func(k kit) { k.Forge = func(c map[string]any) string { return unsigned(c, `{"alg":"none"}`) + "." } }, nil, false},
		} {
			k := newKit()
			if tt.before != nil {
				tt.before(k)
			}
			id, grant, err := k.login(t)
			if err != nil {
				t.Fatalf("%s: %v", about, err)
			}
			tt.then(k)
			got, next, err := k.client.Check(t.Context(), id, grant)
			switch {
			case tt.groups == nil && !errors.Is(err, map[bool]error{false: issuer.ErrRefused, true: issuer.ErrAway}[tt.away]):
				t.Errorf("%s: %v %v", about, got, err)
			case tt.groups != nil && (err != nil || !cmp.Equal(got.Groups, tt.groups)):
				t.Errorf("%s: %v %v, want %v", about, got, err, tt.groups)
			case tt.groups != nil && grant.Refresh != "" && next.Refresh == grant.Refresh:
				t.Errorf("%s: the refresh token was not replaced", about)
			}
		}
	})
}

func TestAnIssuerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit()
		k.Away = true
		for range 2 {
			if _, err := k.client.Begin(t.Context(), "state", "nonce", verifier); !errors.Is(err, issuer.ErrAway) {
				t.Errorf("away at the start: %v", err)
			}
		}
		k.Away = false
		time.Sleep(2 * time.Second)
		if _, _, err := k.login(t); err != nil {
			t.Errorf("back: %v", err)
		}
		code := k.begin(t)
		k.Away = true
		_, _, err := k.client.Finish(t.Context(), code, "nonce", verifier)
		if !errors.Is(err, issuer.ErrAway) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("away at the end: %v", err)
		}
	})
}

// TestLoginsDoNotQueueForAnIssuerThatHangs: each waits no longer than the first, and a client that leaves changes nothing.
func TestLoginsDoNotQueueForAnIssuerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		client := issuer.New(issuer.Config{URL: "https://issuer.example", Now: time.Now, Trip: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		begun := time.Now()
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 20 {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = leaving
			}
			all.Go(func() {
				if _, err := client.Begin(ctx, "state", "nonce", verifier); !errors.Is(err, issuer.ErrAway) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if lasted := time.Since(begun); asked != 1 || lasted > 6*time.Second {
			t.Errorf("20 logins asked %d times and took %v", asked, lasted)
		}
	})
}

// TestErrorsQuoteNothing: a hanging issuer, a wrong secret, an issuer of another name.
func TestErrorsQuoteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for about, config := range map[string]issuer.Config{
			"hanging":      {URL: "https://issuer.example", Trip: hangs},
			"another name": {URL: "https://issuer.example", Trip: issuertest.New("https://CANARY.example", time.Now)},
		} {
			config.Now = time.Now
			begun := time.Now()
			_, err := issuer.New(config).Begin(context.Background(), "state", "nonce", verifier)
			if !errors.Is(err, issuer.ErrAway) || strings.Contains(err.Error(), "CANARY") || time.Since(begun) > 10*time.Second {
				t.Errorf("%s: %v after %v", about, err, time.Since(begun))
			}
		}
	})
	i := issuertest.New("https://issuer.example", time.Now)
	client := issuer.New(issuer.Config{URL: i.URL, ClientID: issuertest.ClientID, Secret: "wrong-CANARY", Now: time.Now, Trip: i})
	_, _, err := client.Finish(t.Context(), "code-CANARY", "nonce", verifier)
	if !errors.Is(err, issuer.ErrAway) || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("with a wrong secret: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
