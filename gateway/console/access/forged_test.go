package access_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

// TestAForgedSessionIsNone: the attacker writes the store, and knows its content and the code, but no secret of the configuration.
func TestAForgedSessionIsNone(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		operators, err := h.ByCode(t.Context(), visitor, h.NewLink())
		if err != nil {
			t.Fatal(err)
		}
		secret := h.login(t, mapsKey)
		name := access.SessionID(secret)
		kept, err := h.store.Get(t.Context(), "session", name, 0)
		if err != nil || !bytes.Contains(kept, []byte(`"Role":1`)) {
			t.Fatalf("the store has %s, %v", kept, err)
		}
		at := bytes.IndexByte(kept, '{')
		session := access.Session{ID: name, Person: access.Person{Name: "link", Role: access.Operator}, Began: time.Now(),
			Proof: access.Proof{Way: access.ByLink}}
		text, _ := json.Marshal(session)
		other, _ := h.store.Get(t.Context(), "session", access.SessionID(operators), 0)
		for about, value := range map[string][]byte{
			"unsigned":                 text,
			"with another's signature": append(bytes.Clone(kept[:at]), text...),
			"a changed role":           bytes.Replace(kept, []byte(`"Role":1`), []byte(`"Role":3`), 1),
			"another session's":        other,
		} {
			if err := h.store.Put(t.Context(), "session", name, value, time.Hour); err != nil {
				t.Fatal(err)
			}
			expect(t, about, who(h.replica(h.store), secret), "nobody")
			listed, err := h.replica(h.store).Sessions(t.Context(), access.Person{Role: access.Operator})
			for _, one := range listed {
				if one.ID != access.SessionID(operators) {
					t.Errorf("%s: the list has %+v", about, one)
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
		if err := h.store.Put(t.Context(), "session", name, kept, time.Hour); err != nil {
			t.Fatal(err)
		}
		expect(t, "as it was", who(h.replica(h.store), secret), "key:mapsmapsmaps member maps")
	})
}

// TestAForgedSignOnIsNone: a sign-on that did not begin here, although it is in the store.
func TestAForgedSignOnIsNone(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		on, state, code := h.visit(t)
		name := access.SessionID(on) // the hash of any secret
		value, _ := json.Marshal(map[string]any{"next": "/evil", "at": time.Now()})
		if err := h.store.Put(t.Context(), "signon", name, value, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Return(t.Context(), visitor, on, state, code); !errors.Is(err, access.ErrNotBegun) {
			t.Errorf("forged: %v", err)
		}
	})
}

// TestASignOnEndsByItsOwnClock, whatever life the store gives it.
func TestASignOnEndsByItsOwnClock(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		on, state, code := h.visit(t)
		name := access.SessionID(on)
		kept, _ := h.store.Get(t.Context(), "signon", name, 24*time.Hour)
		if time.Sleep(access.SignOnLife); kept == nil {
			t.Fatal("no sign-on")
		}
		if _, _, err := h.Return(t.Context(), visitor, on, state, code); !errors.Is(err, access.ErrNotBegun) {
			t.Errorf("after ten minutes: %v", err)
		}
	})
}

// TestAnotherSecretEndsSessions: people log in again when the configuration's secret was replaced.
func TestAnotherSecretEndsSessions(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		secret := h.login(t, token)
		h.secret = "another"
		expect(t, "with another secret", who(h.Control, secret), "nobody")
		expect(t, "a new login", who(h.Control, h.login(t, token)), "token operator")
		h.secret = "a secret of all replicas"
		expect(t, "a replica that has the old secret still", who(h.Control, secret), "token operator")
	})
}

// TestSessionsOfTheFutureAreNone: a replica with a wrong clock would not check their rights until then.
func TestSessionsOfTheFutureAreNone(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		ahead := time.Duration(0)
		fast := access.New(access.Deps{
			Now: func() time.Time { return time.Now().Add(ahead) }, Shared: h.store, Teams: h.teams, Log: discard,
			Secret: func() []byte { return []byte(h.secret) }, Token: h.tokenDigest,
		})
		for d, want := range map[time.Duration]string{30 * time.Second: "token operator", 2 * time.Minute: "nobody", 100 * time.Hour: "nobody"} {
			ahead = d
			secret, err := fast.Login(t.Context(), visitor, token)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "begun "+d.String()+" ahead", who(h.Control, secret), want)
		}
		listed, err := h.Sessions(t.Context(), access.Person{Role: access.Operator})
		if err != nil || len(listed) != 1 {
			t.Errorf("%d sessions are listed, want 1: %v", len(listed), err)
		}
	})
}

// TestInventedCookiesAskNothing: the store is not asked for a cookie that no login issued, nor twice for an ended session. Each
// address may send twenty a minute, and a valid cookie still passes from there.
func TestInventedCookiesAskNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		shared, asked := h.watch()
		control := h.replica(shared)
		right, ended := h.login(t, token), h.login(t, token)
		_ = h.End(t.Context(), ended)
		know := func(v access.Visitor, secret string) error {
			_, err := control.Know(t.Context(), v, secret, true)
			return err
		}
		send := func(v access.Visitor, secret string) (answered int) {
			for answered < 100 && !errors.Is(know(v, secret), access.ErrCookies) {
				answered++
			}
			return answered
		}
		if n := send(visitor, strings.Repeat("A", 64)); n != 20 {
			t.Errorf("%d invented cookies were answered, want 20", n)
		}
		for _, secret := range []string{right[:63] + "!", flip(right), right + "A", right[:43], "x"} {
			if err := know(visitor, secret); !errors.Is(err, access.ErrCookies) {
				t.Errorf("%q: %v", secret, err)
			}
			_ = control.End(t.Context(), secret)
		}
		if *asked != 0 {
			t.Errorf("invented cookies made %d calls of the store", *asked)
		}
		if err := know(visitor, ""); !errors.Is(err, access.ErrWrong) {
			t.Errorf("without a cookie: %v", err)
		}
		if n := send(access.Visitor{Client: "2001:db8::1"}, ended) + send(access.Visitor{Client: "2001:db8::2"}, ended); n != 20 || *asked != 1 {
			t.Errorf("a session that has ended was answered %d times of one network, with %d calls of the store, want 20 and 1", n, *asked)
		}
		expect(t, "a right cookie from there", whoIf(control.Know(t.Context(), visitor, right, true)), "token operator")
		expect(t, "bounds", strings.Join(h.bounds, " "), "cookies")
		time.Sleep(access.CookiesWindow)
		if n := send(visitor, "x"); n != 20 {
			t.Errorf("%d were answered a minute later, want 20", n)
		}
	})
}

// flip changes a bit of the random part of a secret.
func flip(secret string) string {
	bytes, _ := base64.RawURLEncoding.DecodeString(secret)
	bytes[0] ^= 1
	return base64.RawURLEncoding.EncodeToString(bytes)
}

// stateOf returns the state of a sign-on whose cookie has that secret: anyone with the secret can compute it.
func stateOf(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("state\x00"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// TestOtherSitesSpendNothing: the callback without the browser's own sign-on is not counted and does not affect that sign-on, and
// replays do not ask the store again.
func TestOtherSitesSpendNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		shared, asked := h.watch()
		control := h.replica(shared)
		on, state, code := h.visit(t)
		foreign := access.Visitor{Client: visitor.Client, Foreign: true}
		back := func(signOn, state string) error {
			_, _, err := control.Return(context.Background(), foreign, signOn, state, code)
			return err
		}
		for range 1000 {
			for _, cookie := range []string{"", "x", on, strings.Repeat("A", 64), flip(on)} {
				for _, state := range []string{"x", stateOf(cookie)} {
					if cookie == on {
						state = "x"
					}
					if err := back(cookie, state); !errors.Is(err, access.ErrNotBegun) {
						t.Fatal(err)
					}
				}
			}
			if _, err := control.ByCode(t.Context(), foreign, "x"); !errors.Is(err, access.ErrWrong) {
				t.Fatal(err)
			}
		}
		if *asked != 0 || h.log.Len() != 0 {
			t.Errorf("they made %d calls of the store, and the log says %s", *asked, h.log.String())
		}
		if n := tries(control, visitor.Client, "guess"); n != 20 {
			t.Errorf("%d attempts are left to the visitor, want 20", n)
		}
		if err := back(on, state); err != nil {
			t.Errorf("the visitor's own sign-on: %v", err)
		}
		*asked = 0
		for range 100 {
			if err := back(on, state); !errors.Is(err, access.ErrNotBegun) {
				t.Fatal(err)
			}
		}
		if *asked != 0 {
			t.Errorf("replays made %d calls of the store", *asked)
		}
	})
}
