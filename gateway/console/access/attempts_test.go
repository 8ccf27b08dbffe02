package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/access/store"
)

// tries logs in from an address until that is refused for too many attempts, and returns how many were judged.
func tries(desk *access.Desk, client, presented string) (judged int) {
	for judged < 1000 {
		_, err := desk.Login(context.Background(), access.Visitor{Client: client}, presented)
		if errors.Is(err, access.ErrTooMany) {
			break
		}
		judged++
	}
	return judged
}

func TestAttemptsOfOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		if n := tries(h.Desk, "192.0.2.1", "guess"); n != 20 {
			t.Errorf("%d attempts of one address, want 20", n)
		}
		for _, desk := range []*access.Desk{h.Desk, h.other} {
			if _, err := desk.Login(t.Context(), visitor, token); !errors.Is(err, access.ErrTooMany) {
				t.Errorf("the right token from there: %v", err)
			}
		}
		if _, err := h.Bearer(t.Context(), visitor, token); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("a program's from there: %v", err)
		}
		if _, err := h.ByCode(t.Context(), visitor, h.NewLink()); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("a link from there: %v", err)
		}
		if _, err := h.Login(t.Context(), access.Visitor{Client: "192.0.2.2"}, token); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
		time.Sleep(access.AttemptsWindow)
		if _, err := h.Login(t.Context(), visitor, token); err != nil {
			t.Errorf("ten minutes later: %v", err)
		}
	})
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		for i := range 20 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("2001:db8:0:1::%x", i)}, "guess")
		}
		if _, err := h.Login(t.Context(), access.Visitor{Client: "2001:db8:0:1:ffff::1"}, token); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("from the same network: %v", err)
		}
		if _, err := h.Login(t.Context(), access.Visitor{Client: "2001:db8:0:2::1"}, token); err != nil {
			t.Errorf("from another: %v", err)
		}
	})
}

func TestAttemptsOfOneAccount(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		for i := range 100 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("192.0.2.%d", i)}, "slk_mapsmapsmaps_guess")
		}
		elsewhere := access.Visitor{Client: "198.51.100.1"}
		if _, err := h.Login(t.Context(), elsewhere, mapsKey); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("the account that was guessed at: %v", err)
		}
		if _, err := h.Login(t.Context(), elsewhere, token); err != nil {
			t.Errorf("another account: %v", err)
		}
		for i := range 200 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("203.0.113.%d", i)}, "guess")
		}
		if _, err := h.Login(t.Context(), elsewhere, token); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("the operator's login that was guessed at: %v", err)
		}
		if _, err := h.Bearer(t.Context(), elsewhere, token); err != nil {
			t.Errorf("the operator's programs: %v", err)
		}
	})
}

// broken is a store that cannot be reached.
type broken struct{ *store.Memory }

var errBroken = errors.New("broken")

func (broken) Put(context.Context, string, string, []byte, time.Duration) error { return errBroken }
func (broken) Get(context.Context, string, string, time.Duration) ([]byte, error) {
	return nil, errBroken
}
func (broken) Count(context.Context, string, int, time.Duration) (int, error) { return 0, errBroken }

func TestWithoutTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		desk := h.desk(broken{h.store})
		secret := h.login(t, token)
		expect(t, "a session", who(desk, secret), "away")
		if _, err := desk.Login(t.Context(), visitor, token); !errors.Is(err, access.ErrAway) {
			t.Errorf("a login: %v", err)
		}
		expect(t, "a program's token", whoIf(desk.Bearer(t.Context(), visitor, token)), "token operator")
		if n := tries(desk, "192.0.2.9", "guess"); n != 20 {
			t.Errorf("%d attempts of one address, want 20", n)
		}
		expect(t, "the session, when the store is back", who(h.Desk, secret), "token operator")
	})
}

// TestNobodyCrowdsOthersOut: the store keeps so many sessions, and so many logins that are at the issuer.
func TestNobodyCrowdsOthersOut(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		operators := h.login(t, token)
		for range 10_001 {
			if _, err := h.Login(t.Context(), visitor, mapsKey); err != nil && !errors.Is(err, access.ErrTooMany) {
				t.Fatal(err)
			}
		}
		expect(t, "the operator", who(h.Desk, operators), "token operator")
	})
}

func TestSignOnsOfOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		on, state, code := h.visit(t)
		for range 10_001 {
			if _, err := h.SignOn(t.Context(), access.Visitor{Client: "192.0.2.66"}, "/"); err != nil && !errors.Is(err, access.ErrTooMany) {
				t.Fatal(err)
			}
		}
		if _, _, err := h.Return(t.Context(), visitor, on, state, code); err != nil {
			t.Errorf("another's login: %v", err)
		}
	})
}

// TestNamesDiffer: who may see a session, and who the audit names, is told by the name.
func TestNamesDiffer(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		names := map[string]bool{}
		for _, claims := range []map[string]any{
			{"sub": "mller"}, {"sub": "m\u00fcller"}, {"sub": "m\u00f6ller"}, {"sub": strings.Repeat("x", 120) + "1"}, {"sub": strings.Repeat("x", 120) + "2"},
			{"sub": "alice@example.com"}, {"sub": "7", "email": "alice@example.com", "email_verified": true},
		} {
			claims["groups"] = "audit"
			h.issuer.Claims = claims
			p, err := h.Know(t.Context(), h.signOn(t), true)
			if err != nil || names[p.Name] || len(p.Name) > 160 {
				t.Errorf("%v is %q: %v", claims, p.Name, err)
			}
			names[p.Name] = true
		}
	})
}
