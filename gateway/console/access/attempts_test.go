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

// tries logs in with a wrong secret until that is refused for too many attempts, and returns how many times it was not.
func tries(desk *access.Desk, client, presented string) (failed int) {
	for failed < 1000 {
		_, err := desk.Login(context.Background(), access.Visitor{Client: client}, presented)
		if errors.Is(err, access.ErrTooMany) {
			break
		}
		failed++
	}
	return failed
}

// lets fails the test unless every right secret passes from an address, at both replicas.
func (h *house) lets(t *testing.T, about string, v access.Visitor) {
	t.Helper()
	for _, desk := range []*access.Desk{h.Desk, h.other} {
		for _, presented := range []string{token, mapsKey} {
			if _, err := desk.Login(t.Context(), v, presented); err != nil {
				t.Errorf("%s: %.4s… in the form: %v", about, presented, err)
			}
		}
		if _, err := desk.Bearer(t.Context(), v, token); err != nil {
			t.Errorf("%s: a program's token: %v", about, err)
		}
		if _, err := desk.ByCode(t.Context(), v, desk.NewLink()); err != nil {
			t.Errorf("%s: a link: %v", about, err)
		}
	}
}

// TestStrangersKeepNoRightSecretOut: whatever was tried from an address or at an account, a right one passes, and a wrong one does not.
func TestStrangersKeepNoRightSecretOut(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		if n := tries(h.Desk, visitor.Client, "guess"); n != 20 {
			t.Errorf("%d attempts of one address failed, want 20", n)
		}
		h.lets(t, "from the address of guesses", visitor)
		if n := tries(h.other, visitor.Client, "guess"); n != 0 {
			t.Errorf("%d more at the other replica", n)
		}
		if _, err := h.Bearer(t.Context(), visitor, "guess"); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("a program's guess from there: %v", err)
		}
		if _, err := h.ByCode(t.Context(), visitor, "guess"); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("a link's guess from there: %v", err)
		}
		if _, err := h.Login(t.Context(), visitor, strings.Repeat("x", 1<<20)); !errors.Is(err, access.ErrTooMany) {
			t.Errorf("a long guess from there: %v", err)
		}
		time.Sleep(access.AttemptsWindow)
		if n := tries(h.Desk, visitor.Client, "guess"); n != 20 {
			t.Errorf("%d attempts failed ten minutes later, want 20", n)
		}
		expect(t, "bounds", strings.Join(h.bounds, " "), "attempts")
	})
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		for i := range 20 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("2001:db8:0:1::%x", i)}, "guess")
		}
		if n := tries(h.Desk, "2001:db8:0:1:ffff::1", "guess"); n != 0 {
			t.Errorf("%d more from the same network", n)
		}
		if n := tries(h.Desk, "2001:db8:0:2::1", "guess"); n != 20 {
			t.Errorf("%d from another, want 20", n)
		}
	})
}

func TestAttemptsOfOneAccount(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		for i := range 100 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("192.0.2.%d", i)}, "slk_mapsmapsmaps_guess")
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("203.0.113.%d", i)}, "guess")
		}
		for account, guess := range map[string]string{"a key": "slk_mapsmapsmaps_guess", "the token": "guess"} {
			if n := tries(h.other, "198.51.100.1", guess); n != 0 {
				t.Errorf("%d more guesses at %s", n, account)
			}
		}
		if n := tries(h.Desk, "198.51.100.2", "slk_searchsearch_guess"); n != 20 {
			t.Errorf("%d guesses at another account, want 20", n)
		}
		h.lets(t, "the accounts that were guessed at", access.Visitor{Client: "198.51.100.1"})
	})
}

// asked counts the calls of a store.
type asked struct {
	access.Store
	calls int
}

func (a *asked) Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error) {
	a.calls++
	return a.Store.Get(ctx, kind, name, renew)
}

func (a *asked) Take(ctx context.Context, kind, name string) ([]byte, error) {
	a.calls++
	return a.Store.Take(ctx, kind, name)
}

func (a *asked) Count(ctx context.Context, name string, step int, window time.Duration) (int, error) {
	a.calls++
	return a.Store.Count(ctx, name, step, window)
}

// TestStrangersAskTheStoreSeldom: a program's right token asks it for nothing, and beyond the bounds nothing does that fails.
func TestStrangersAskTheStoreSeldom(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		shared := &asked{h.store, 0}
		desk := h.desk(shared)
		expect(t, "a program", whoIf(desk.Bearer(t.Context(), visitor, token)), "token operator")
		if shared.calls != 0 {
			t.Errorf("a right token made %d calls of the store", shared.calls)
		}
		for range 1000 {
			_, _ = desk.Bearer(t.Context(), visitor, "guess")
			_, _ = desk.Login(t.Context(), visitor, "guess")
			_, _ = desk.ByCode(t.Context(), visitor, "guess")
		}
		if shared.calls == 0 || shared.calls > 40 {
			t.Errorf("3000 guesses made %d calls of the store, want 1 to 40", shared.calls)
		}
		if n := strings.Count(h.log.String(), "console login refused"); n > 20 {
			t.Errorf("3000 guesses are in the log %d times", n)
		}
		shared.calls = 0
		for range 3000 {
			_, _ = desk.SignOn(t.Context(), visitor, "/")
		}
		if shared.calls > 300 {
			t.Errorf("3000 sign-ons made %d calls of the store, want 300", shared.calls)
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
			if _, err := h.Login(t.Context(), visitor, mapsKey); err != nil && !errors.Is(err, access.ErrOften) {
				t.Fatal(err)
			}
		}
		expect(t, "the operator", who(h.Desk, operators), "token operator")
		expect(t, "bounds", strings.Join(h.bounds, " "), "logins")
	})
}

func TestSignOnsOfOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		on, state, code := h.visit(t)
		for range 10_001 {
			if _, err := h.SignOn(t.Context(), access.Visitor{Client: "192.0.2.66"}, "/"); err != nil && !errors.Is(err, access.ErrOften) {
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
			p, err := h.Know(t.Context(), visitor, h.signOn(t), true)
			if err != nil || names[p.Name] || len(p.Name) > 160 {
				t.Errorf("%v is %q: %v", claims, p.Name, err)
			}
			names[p.Name] = true
		}
	})
}
