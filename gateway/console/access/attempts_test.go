package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

// tries logs in with a wrong secret until it is refused for too many attempts, and returns the number of attempts before.
func tries(control *access.Control, client, presented string) (failed int) {
	for failed < 1000 {
		_, err := control.Login(context.Background(), access.Visitor{Client: client}, presented)
		if errors.Is(err, access.ErrTooMany) {
			break
		}
		failed++
	}
	return failed
}

// lets fails the test unless every right secret passes from an address, at both replicas.
func (h *replicas) lets(t *testing.T, about string, v access.Visitor) {
	t.Helper()
	for _, control := range []*access.Control{h.Control, h.other} {
		for _, presented := range []string{token, mapsKey} {
			if _, err := control.Login(t.Context(), v, presented); err != nil {
				t.Errorf("%s: %.4s… in the form: %v", about, presented, err)
			}
		}
		if _, err := control.Bearer(t.Context(), v, token); err != nil {
			t.Errorf("%s: a program's token: %v", about, err)
		}
		if _, err := control.ByCode(t.Context(), v, control.NewLink()); err != nil {
			t.Errorf("%s: a link: %v", about, err)
		}
	}
}

// TestStrangersKeepNoRightSecretOut: whatever was tried from an address or on an account, a right one passes, and a wrong one does not.
func TestStrangersKeepNoRightSecretOut(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		if n := tries(h.Control, visitor.Client, "guess"); n != 20 {
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
		if n := tries(h.Control, visitor.Client, "guess"); n != 20 {
			t.Errorf("%d attempts failed ten minutes later, want 20", n)
		}
		expect(t, "bounds", strings.Join(h.bounds, " "), "attempts")
	})
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		for i := range 20 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("2001:db8:0:1::%x", i)}, "guess")
		}
		if n := tries(h.Control, "2001:db8:0:1:ffff::1", "guess"); n != 0 {
			t.Errorf("%d more from the same network", n)
		}
		if n := tries(h.Control, "2001:db8:0:2::1", "guess"); n != 20 {
			t.Errorf("%d from another, want 20", n)
		}
	})
}

func TestAttemptsOfOneAccount(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		for i := range 100 {
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("192.0.2.%d", i)}, "slk_mapsmapsmaps_guess")
			_, _ = h.Login(t.Context(), access.Visitor{Client: fmt.Sprintf("203.0.113.%d", i)}, "guess")
		}
		for account, guess := range map[string]string{"a key": "slk_mapsmapsmaps_guess", "the token": "guess"} {
			if n := tries(h.other, "198.51.100.1", guess); n != 0 {
				t.Errorf("%d more guesses at %s", n, account)
			}
		}
		if n := tries(h.Control, "198.51.100.2", "slk_searchsearch_guess"); n != 20 {
			t.Errorf("%d guesses at another account, want 20", n)
		}
		h.lets(t, "the accounts that were guessed at", access.Visitor{Client: "198.51.100.1"})
	})
}

// TestStrangersAskTheStoreSeldom: a program's right token needs no call of the store, and beyond the bounds nor does a failing attempt.
func TestStrangersAskTheStoreSeldom(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		shared, asked := h.watch()
		control := h.replica(shared)
		expect(t, "a program", whoIf(control.Bearer(t.Context(), visitor, token)), "token operator")
		if *asked != 0 {
			t.Errorf("a right token made %d calls of the store", *asked)
		}
		for range 1000 {
			_, _ = control.Bearer(t.Context(), visitor, "guess")
			_, _ = control.Login(t.Context(), visitor, "guess")
			_, _ = control.ByCode(t.Context(), visitor, "guess")
		}
		if *asked == 0 || *asked > 40 {
			t.Errorf("3000 guesses made %d calls of the store, want 1 to 40", *asked)
		}
		if n := strings.Count(h.log.String(), "console login refused"); n > 20 {
			t.Errorf("3000 guesses are in the log %d times", n)
		}
		*asked = 0
		for range 3000 {
			_, _ = control.SignOn(t.Context(), visitor, "/")
		}
		if *asked > 300 {
			t.Errorf("3000 sign-ons made %d calls of the store, want 300", *asked)
		}
	})
}

func TestWithoutTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		away := true
		control := h.replica(h.away(&away))
		secret := h.login(t, token)
		expect(t, "a session", who(control, secret), "away")
		if _, err := control.Login(t.Context(), visitor, mapsKey); !errors.Is(err, access.ErrAway) {
			t.Errorf("a login with a key: %v", err)
		}
		own, err := control.Login(t.Context(), visitor, token)
		if err != nil {
			t.Fatalf("a login with the token: %v", err)
		}
		ended, err := control.Login(t.Context(), visitor, token)
		if err != nil || control.End(t.Context(), ended) != nil {
			t.Errorf("a logout: %v", err)
		}
		expect(t, "a session of this replica", who(control, own), "token operator")
		expect(t, "one that was ended", who(control, ended), "nobody")
		expect(t, "the same at the other replica", who(h.Control, own), "nobody")
		expect(t, "a program's token", whoIf(control.Bearer(t.Context(), visitor, token)), "token operator")
		if n := tries(control, "192.0.2.9", "guess"); n != 20 {
			t.Errorf("%d attempts of one address, want 20", n)
		}
		expect(t, "the session, when the store is back", who(h.Control, secret), "token operator")
		away = false
		expect(t, "that of this replica", who(control, own), "token operator")
		expect(t, "at another replica then", who(h.replica(h.store), own), "token operator")
		if ok, err := h.Revoke(t.Context(), visitor, access.Person{Name: "token", Role: access.Operator},
			access.SessionID(own)); !ok || err != nil {
			t.Errorf("it cannot be revoked: %v", err)
		}
		expect(t, "revoked", who(control, own), "nobody")
		away = true
		again, _ := control.Login(t.Context(), visitor, token)
		h.token = "another-operators-token"
		expect(t, "after the token was replaced", who(control, again), "nobody")
	})
}

// TestNobodyCrowdsOthersOut: the store bounds the sessions, and the logins that are at the issuer.
func TestNobodyCrowdsOthersOut(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		operators := h.login(t, token)
		for range 10_001 {
			if _, err := h.Login(t.Context(), visitor, mapsKey); err != nil && !errors.Is(err, access.ErrOften) {
				t.Fatal(err)
			}
		}
		expect(t, "the operator", who(h.Control, operators), "token operator")
		expect(t, "bounds", strings.Join(h.bounds, " "), "logins")
	})
}

func TestSignOnsOfOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
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

// TestNamesDiffer: the name decides who may see a session, and whom the audit names.
func TestNamesDiffer(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		names := map[string]bool{}
		for _, claims := range []map[string]any{
			{"sub": "mller"}, {"sub": "m\u00fcller"}, {"sub": "m\u00f6ller"}, {"sub": strings.Repeat("x", 120) + "1"},
			{"sub": strings.Repeat("x", 120) + "2"},
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

// TestManyAttemptsAtOnce get no more tries than sequential ones.
func TestManyAttemptsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		h.teams.takes = time.Second // so that many look-ups are in flight together
		burst := func(count int, try func(i int) error) (failed int) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range count {
				all.Go(func() {
					err := try(i)
					mu.Lock()
					defer mu.Unlock()
					if !errors.Is(err, access.ErrTooMany) {
						failed++
					}
				})
			}
			all.Wait()
			return failed
		}
		from := func(client, presented string) error {
			_, err := h.Login(t.Context(), access.Visitor{Client: client}, presented)
			return err
		}
		if n := burst(100, func(int) error { return from("192.0.2.1", "guess") }); n != 20 {
			t.Errorf("%d guesses of one address failed, want 20", n)
		}
		if n := burst(200, func(i int) error { return from(fmt.Sprintf("198.51.100.%d", i), "slk_mapsmapsmaps_guess") }); n != 100 {
			t.Errorf("%d guesses at one account failed, want 100", n)
		}
		for range 30 {
			if err := from("203.0.113.1", token); err != nil {
				t.Fatalf("one good login after the other: %v", err)
			}
		}
	})
}

// TestLoginsThatAreLeftCount: a client that leaves before the answer has guessed as well.
func TestLoginsThatAreLeftCount(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		// as Redis is not asked for a client that has left
		obeying := hooked{h.store, func(ctx context.Context, _ string) error { return ctx.Err() }}
		left, leave := context.WithCancel(t.Context())
		leave()
		for range 20 {
			_, _ = h.replica(obeying).Login(left, visitor, "a guess") // each at another replica
		}
		if n := tries(h.Control, visitor.Client, "a guess"); n != 0 {
			t.Errorf("%d more guesses", n)
		}
	})
}
