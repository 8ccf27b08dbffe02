package oidc_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
)

const proof = "verifier-verifier-verifier-verifier-verifier"

// people are an issuer and a client.
type people struct {
	*oidctest.Issuer
	client *oidc.Client
}

func newPeople() people {
	i := oidctest.New("https://issuer.example", time.Now)
	return people{i, oidc.NewClient(i.Client("https://console.example/login/callback"))}
}

// begin is a browser that visits the issuer and returns with a code.
func (p people) begin(t *testing.T) (code string) {
	t.Helper()
	address, err := p.client.Begin(t.Context(), "state", "nonce", proof)
	if err != nil {
		t.Fatal(err)
	}
	state, code := p.Visit(t, address)
	if state != "state" {
		t.Fatalf("state %q", state)
	}
	return code
}

func (p people) login(t *testing.T) (oidc.Identity, oidc.Grant, error) {
	t.Helper()
	return p.client.Finish(t.Context(), p.begin(t), "nonce", proof)
}

func TestAPersonIsKnownByTheIDToken(t *testing.T) {
	for about, tt := range map[string]struct {
		claims map[string]any
		bare   bool
		want   oidc.Identity
	}{
		"all claims":               {nil, false, oidc.Identity{Subject: "alice", Email: "alice@example.com", Groups: []string{"platform"}}},
		"groups of userinfo alone": {nil, true, oidc.Identity{Subject: "alice", Email: "alice@example.com", Groups: []string{"platform"}}},
		"an address that is not verified": {
			map[string]any{"sub": "alice", "email": "boss@example.com", "groups": []string{}}, false,
			oidc.Identity{Subject: "alice", Groups: []string{}},
		},
		"truth as a word, one group without a list": {
			map[string]any{"sub": "alice", "email": "alice@example.com", "email_verified": "true", "groups": "platform"}, false,
			oidc.Identity{Subject: "alice", Email: "alice@example.com", Groups: []string{"platform"}},
		},
		"falsehood as a word": {
			map[string]any{"sub": "alice", "email": "boss@example.com", "email_verified": "false"}, false, oidc.Identity{Subject: "alice"},
		},
	} {
		p := newPeople()
		if p.BareTokens = tt.bare; tt.claims != nil {
			p.Claims = tt.claims
		}
		got, grant, err := p.login(t)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || grant.Refresh == "" {
			t.Errorf("%s: %v, grant %v (-want +got):\n%s", about, err, grant.Refresh != "", diff)
		}
	}
}

// TestForgedTokensAreRefused: the attacker knows the issuer's own claims of each ID token.
func TestForgedTokensAreRefused(t *testing.T) {
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for about, forge := range map[string]any{ // the claims that it changes, or what makes the token
		"alg none": func(_ people, c map[string]any) string { return unsigned(c, `{"alg":"none"}`) + "." },
		"HS256 with the public key": func(p people, c map[string]any) string {
			return oidctest.Sign("HS256", publicPEM(t, p.Key), "one", c, nil)
		},
		"HS256 with the client's secret": func(_ people, c map[string]any) string {
			return oidctest.Sign("HS256", []byte(oidctest.ClientSecret), "one", c, nil)
		},
		"a key that the token brings":   func(p people, c map[string]any) string { return oidctest.New(p.URL, time.Now).Sign(c) },
		"changed after it was signed":   func(p people, c map[string]any) string { return strings.Replace(p.Sign(c), ".", ".A", 1) },
		"none at all":                   func(people, map[string]any) string { return "" },
		"another issuer":                claims{"iss": "https://elsewhere.example"},
		"another audience":              claims{"aud": "grafana"},
		"no audience":                   claims{"aud": nil},
		"another party":                 claims{"azp": "grafana"},
		"an empty party":                claims{"azp": ""},
		"a party that is no word":       claims{"azp": 1},
		"two audiences without a party": claims{"aud": []string{"grafana", oidctest.ClientID}},
		"two audiences, another party":  claims{"aud": []string{oidctest.ClientID, "grafana"}, "azp": "grafana"},
		"nobody's":                      claims{"sub": nil},
		"an empty name":                 claims{"sub": ""},
		"expired":                       claims{"exp": at(-time.Hour)},
		"without an end":                claims{"exp": nil},
		"not valid yet":                 claims{"nbf": at(time.Hour)},
		"of another login":              claims{"nonce": "another"},
		"without a nonce":               claims{"nonce": nil},
		"of another access token":       claims{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
	} {
		p := newPeople()
		p.Forge = func(all map[string]any) string {
			switch forge := forge.(type) {
			case claims:
				return p.Sign(changed(all, forge))
			case func(people, map[string]any) string:
				return forge(p, all)
			}
			return ""
		}
		if id, _, err := p.login(t); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("%s: %+v %v", about, id, err)
		}
	}
}

// TestATokenOfSeveralAudiences is accepted if it states that it was made for this client.
func TestATokenOfSeveralAudiences(t *testing.T) {
	p := newPeople()
	p.Forge = func(claims map[string]any) string {
		claims["aud"], claims["azp"] = []string{"grafana", oidctest.ClientID}, oidctest.ClientID
		return p.Sign(claims)
	}
	if id, _, err := p.login(t); err != nil || id.Subject != "alice" {
		t.Errorf("%+v, %v", id, err)
	}
}

func unsigned(claims map[string]any, header string) string {
	text, _ := json.Marshal(claims)
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(text)
}

func TestACodeWorksOnceAndWithItsVerifier(t *testing.T) {
	p := newPeople()
	code := p.begin(t)
	if _, _, err := p.client.Finish(t.Context(), code, "nonce", proof); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.client.Finish(t.Context(), code, "nonce", proof); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("the second time: %v", err)
	}
	if _, _, err := p.client.Finish(t.Context(), p.begin(t), "nonce", strings.Repeat("x", 43)); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("with another verifier: %v", err)
	}
}

func TestThePersonIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for about, tt := range map[string]struct {
			before func(p people)
			then   func(p people)
			groups []string // nil: refused
			away   bool
		}{
			"unchanged":      {nil, func(people) {}, []string{"platform"}, false},
			"another group":  {nil, func(p people) { p.Claims["groups"] = []string{"sales"} }, []string{"sales"}, false},
			"closed account": {nil, func(p people) { p.Claims = nil }, nil, false},
			"another person": {nil, func(p people) { p.Claims["sub"] = "mallory" }, nil, false},
			"groups of userinfo": {func(p people) { p.BareTokens = true }, func(p people) { p.Claims["groups"] = []string{"sales"} },
				[]string{"sales"}, false},
			"no userinfo endpoint": {func(p people) { p.Userinfo = false }, func(p people) { p.Claims["groups"] = []string{"sales"} },
				[]string{"sales"}, false},
			"without refresh tokens": {func(p people) { p.NoRefresh = true }, func(p people) { p.Claims["groups"] = []string{"sales"} },
				[]string{"sales"}, false},
			"closed, without refresh":      {func(p people) { p.NoRefresh = true }, func(p people) { p.Claims = nil }, nil, false},
			"after the access token's end": {func(p people) { p.NoRefresh = true }, func(people) { time.Sleep(time.Hour) }, nil, false},
			"away":                         {nil, func(p people) { p.Away = true }, nil, true},
			"a forged token at the refresh": {nil, func(p people) {
				p.Forge = func(c map[string]any) string {
					return unsigned(c, `{"alg":"none"}`) + "."
				}
			}, nil, false},
		} {
			p := newPeople()
			if tt.before != nil {
				tt.before(p)
			}
			id, grant, err := p.login(t)
			if err != nil {
				t.Fatalf("%s: %v", about, err)
			}
			tt.then(p)
			got, next, err := p.client.Check(t.Context(), id, grant)
			switch {
			case tt.groups == nil && !errors.Is(err, map[bool]error{false: oidc.ErrRefused, true: oidc.ErrAway}[tt.away]):
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
		p := newPeople()
		p.Away = true
		for range 2 {
			if _, err := p.client.Begin(t.Context(), "state", "nonce", proof); !errors.Is(err, oidc.ErrAway) {
				t.Errorf("away at the start: %v", err)
			}
		}
		p.Away = false
		time.Sleep(2 * time.Second)
		if _, _, err := p.login(t); err != nil {
			t.Errorf("back: %v", err)
		}
		code := p.begin(t)
		p.Away = true
		_, _, err := p.client.Finish(t.Context(), code, "nonce", proof)
		if !errors.Is(err, oidc.ErrAway) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("away at the end: %v", err)
		}
	})
}

// TestLoginsDoNotQueueForAnIssuerThatHangs: each waits no longer than the first, and a client that leaves changes nothing.
func TestLoginsDoNotQueueForAnIssuerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		client := oidc.NewClient(oidc.ClientConfig{URL: "https://issuer.example", Now: time.Now,
			Trip: roundTrip(func(r *http.Request) (*http.Response, error) {
				asked++
				return hangs(r)
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
				if _, err := client.Begin(ctx, "state", "nonce", proof); !errors.Is(err, oidc.ErrAway) {
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
		for about, config := range map[string]oidc.ClientConfig{
			"hanging":      {URL: "https://issuer.example", Trip: hangs},
			"another name": {URL: "https://issuer.example", Trip: oidctest.New("https://CANARY.example", time.Now)},
		} {
			config.Now = time.Now
			begun := time.Now()
			_, err := oidc.NewClient(config).Begin(context.Background(), "state", "nonce", proof)
			if !errors.Is(err, oidc.ErrAway) || strings.Contains(err.Error(), "CANARY") || time.Since(begun) > 10*time.Second {
				t.Errorf("%s: %v after %v", about, err, time.Since(begun))
			}
		}
	})
	i := oidctest.New("https://issuer.example", time.Now)
	client := oidc.NewClient(oidc.ClientConfig{URL: i.URL, ClientID: oidctest.ClientID, Secret: func() string { return "wrong-CANARY" },
		Now: time.Now, Trip: i})
	_, _, err := client.Finish(t.Context(), "code-CANARY", "nonce", proof)
	if !errors.Is(err, oidc.ErrAway) || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("with a wrong secret: %v", err)
	}
}
