package access_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

func TestTheIssuersAnswerWorksOnceAndInOneBrowser(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		refused := func(about, on, state, code string) {
			t.Helper()
			if secret, _, err := h.other.Return(t.Context(), visitor, on, state, code); !errors.Is(err, access.ErrWrong) || secret != "" {
				t.Errorf("%s: %v", about, err)
			}
		}
		on, state, code := h.visit(t)
		mallorys, mallorysState, mallorysCode := h.visit(t)
		refused("without the cookie", "", state, code)
		refused("in another browser", mallorys, state, code)
		refused("an empty state", on, "", code)
		refused("with another login's code", on, state, mallorysCode)
		refused("after a failure", on, state, code)

		on, state, code = h.visit(t)
		if _, _, err := h.other.Return(t.Context(), visitor, on, state, code); err != nil {
			t.Errorf("at another replica: %v", err)
		}
		refused("replayed", on, state, code)
		if _, _, err := h.Return(t.Context(), visitor, on, state, code); !errors.Is(err, access.ErrNotBegun) {
			t.Errorf("replayed at the first replica: %v", err)
		}
		time.Sleep(access.SignOnLife)
		refused("after ten minutes", mallorys, mallorysState, mallorysCode)
	})
}

func TestAPersonWithoutRightsIsNotLetIn(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		for _, claims := range []map[string]any{
			{"sub": "bob", "groups": "sales"},
			{"sub": "platform", "email": "alice@example.com"},                                               // not verified
			{"sub": "bob", "groups": []string{"PLATFORM", "platform ", "map"}},                              // no letter may differ
			{"sub": "bob", "groups": []string{"root@example.com", "alice@example.com", "ROOT@example.com"}}, // groups that are named like addresses
			{"sub": "bob", "email": "platform", "email_verified": true, "groups": []string{}},               // an address that is named like a group
			{"sub": "bob", "groups": []string{"group:platform", ""}},
			{"sub": "bob"},
		} {
			h.issuer.Claims = claims
			on, state, code := h.visit(t)
			if _, _, err := h.Return(t.Context(), visitor, on, state, code); !errors.Is(err, access.ErrNoRights) {
				t.Errorf("%v: %v", claims, err)
			}
		}
	})
}

func TestTheIssuerIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		secret := h.signOn(t)
		asked := h.issuer.Asked
		time.Sleep(9 * time.Minute)
		expect(t, "soon", who(h.Control, secret), "oidc:alice@example.com operator")
		if h.issuer.Asked != asked {
			t.Error("asked before ten minutes were over")
		}
		time.Sleep(time.Minute)
		for range 20 {
			expect(t, "at ten minutes", who(h.Control, secret), "oidc:alice@example.com operator")
		}
		if n := h.issuer.Asked - asked; n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
		h.issuer.Claims["groups"] = "audit"
		time.Sleep(9 * time.Minute)
		expect(t, "not asked yet", who(h.Control, secret), "oidc:alice@example.com operator")
		time.Sleep(6 * time.Minute)
		expect(t, "with other groups, within a quarter of an hour", who(h.Control, secret), "nobody")
		h.issuer.Claims["groups"] = "platform"
		expect(t, "with the old groups again", who(h.other, secret), "nobody")
	})
}

func TestAClosedAccountEndsTheSession(t *testing.T) {
	for _, refresh := range []bool{true, false} {
		bubble(t, func(t *testing.T, h *replicas) {
			h.issuer.NoRefresh = !refresh
			secret := h.signOn(t)
			h.issuer.Claims = nil
			time.Sleep(15 * time.Minute)
			expect(t, "after a quarter of an hour", who(h.Control, secret), "nobody")
		})
	}
}

func TestWithoutRefreshTokensASessionEndsWithItsAccessToken(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		h.issuer.NoRefresh = true // its access tokens live for half an hour
		secret := h.signOn(t)
		for range 2 {
			time.Sleep(14 * time.Minute)
			expect(t, "while the access token lives", who(h.Control, secret), "oidc:alice@example.com operator")
		}
		time.Sleep(14 * time.Minute)
		expect(t, "later", who(h.Control, secret), "nobody")
	})
}

func TestWhileTheIssuerIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		secret := h.signOn(t)
		h.issuer.Away = true
		time.Sleep(14 * time.Minute)
		expect(t, "before a quarter of an hour", who(h.Control, secret), "oidc:alice@example.com operator")
		time.Sleep(time.Minute)
		expect(t, "after it", who(h.Control, secret), "away")
		expect(t, "at another replica", who(h.other, secret), "away")
		if _, err := h.SignOn(t.Context(), visitor, "/"); err != nil {
			t.Errorf("the issuer's address is known: %v", err)
		}
		h.issuer.Away = false
		time.Sleep(11 * time.Second)
		expect(t, "when it is back", who(h.Control, secret), "oidc:alice@example.com operator")
	})
}

// TestOneRequestOfAllAsks: issuers take a refresh token once, and treat a second use as theft.
func TestOneRequestOfAllAsks(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		secret := h.signOn(t)
		asked := h.issuer.Asked
		time.Sleep(30 * time.Minute) // the last answer is too old: no request passes before a new check
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				control := []*access.Control{h.Control, h.other}[i%2]
				if got := who(control, secret); got != "oidc:alice@example.com operator" {
					t.Errorf("a request got %s", got)
				}
			})
		}
		all.Wait()
		if n := h.issuer.Asked - asked; n != 1 {
			t.Errorf("the issuer was asked %d times", n)
		}
	})
}

// TestNoSecretIsKeptOrLogged: the contents of the store and the log do not suffice for a login.
func TestNoSecretIsKeptOrLogged(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		on, state, code := h.visit(t)
		link := h.NewLink()
		secrets := []string{"CANARY", h.login(t, token), h.login(t, mapsKey), link, h.signOn(t), on, state, code}
		if secret, err := h.ByCode(t.Context(), visitor, link); err == nil {
			secrets = append(secrets, secret)
		}
		_, _ = h.Login(t.Context(), visitor, "guess-CANARY")
		_, _ = h.Bearer(t.Context(), visitor, "guess-CANARY")
		_, _, _ = h.Return(t.Context(), visitor, on, state, "guess-CANARY")
		time.Sleep(10 * time.Minute)
		who(h.Control, secrets[4])
		secrets = append(secrets, h.issuer.Secrets...)
		kept := h.log.String()
		for _, kind := range []string{"session", "signon"} {
			values, err := h.store.List(t.Context(), kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range values {
				kept += string(value)
			}
		}
		sessions, _ := h.Sessions(t.Context(), access.Person{Role: access.Operator})
		text, _ := json.Marshal(sessions)
		kept += string(text)
		if len(sessions) != 4 || !strings.Contains(kept, "console login") {
			t.Fatalf("%d sessions", len(sessions))
		}
		for _, secret := range secrets {
			if strings.Contains(kept, secret) {
				t.Errorf("%s is in\n%s", secret, kept)
			}
		}
	})
}

// TestANewRefreshTokenIsKept: the issuer has taken the old one already when its userinfo endpoint fails.
func TestANewRefreshTokenIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		h.issuer.BareTokens = true
		secret := h.signOn(t)
		h.issuer.NoUserinfo = true
		time.Sleep(11 * time.Minute)
		expect(t, "while the endpoint fails", who(h.Control, secret), "oidc:alice@example.com operator")
		h.issuer.NoUserinfo = false
		time.Sleep(11 * time.Second)
		expect(t, "when it is back", who(h.Control, secret), "oidc:alice@example.com operator")
		time.Sleep(10 * time.Minute)
		expect(t, "later", who(h.Control, secret), "oidc:alice@example.com operator")
		h.issuer.NoUserinfo = true
		time.Sleep(16 * time.Minute)
		expect(t, "a failure does not count as vouching", who(h.Control, secret), "away")
	})
}

// TestClaimsInOtherLettersGiveNothing: at some issuers people choose some of their claims themselves.
func TestClaimsInOtherLettersGiveNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		for _, bare := range []bool{false, true} {
			h.issuer.BareTokens = bare
			for _, claims := range []map[string]any{
				{"sub": "bob", "groups": []string{"sales"}, "groupſ": []string{"platform"}},
				{"sub": "bob", "Groups": []string{"platform"}},
				{"sub": "bob", "email": "root@example.com", "Email_Verified": true},
				{"sub": "bob", "Email": "root@example.com", "email_verified": true},
			} {
				h.issuer.Claims = claims
				on, state, code := h.visit(t)
				if _, _, err := h.Return(t.Context(), visitor, on, state, code); !errors.Is(err, access.ErrNoRights) {
					t.Errorf("%v: %v", claims, err)
				}
			}
		}
	})
}

// TestAddressesAreNotFoldedBeyondASCII: the Kelvin sign folds to k, but is another mailbox.
func TestAddressesAreNotFoldedBeyondASCII(t *testing.T) {
	for _, address := range []string{"\u212aim@example.com", "kim@example\u017f.com"} {
		if access.Names("kim@example.com", nil, address) || access.Names("kim@examples.com", nil, address) {
			t.Errorf("%q is taken for another address", address)
		}
	}
	if !access.Names("kim@example.com", nil, "Kim@EXAMPLE.com") {
		t.Error("the case of letters counts")
	}
}

// TestGroupsWithAnAt are listed as groups: an entry that looks like an address is one.
func TestGroupsWithAnAt(t *testing.T) {
	for entry, want := range map[string]bool{"group:maps@example.com": true, "maps@example.com": false, "group:Maps@example.com": false,
		"group:kim@example.com": false} {
		if access.Names(entry, []string{"maps@example.com"}, "kim@example.com") != want {
			t.Errorf("%s: %v", entry, !want)
		}
	}
}
