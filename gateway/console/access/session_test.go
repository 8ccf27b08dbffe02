package access_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/console/access"
)

// bubble runs a test in simulated time.
func bubble(t *testing.T, test func(t *testing.T, h *house)) {
	synctest.Test(t, func(t *testing.T) { test(t, newHouse()) })
}

func TestEachWayOfLoggingIn(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		expect(t, "the token", who(h.other, h.login(t, token)), "token operator")
		expect(t, "a team's key", who(h.other, h.login(t, mapsKey)), "key:mapsmapsmaps member maps")
		code := h.NewLink()
		secret, err := h.ByCode(t.Context(), visitor, code)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "the link", who(h.other, secret), "link operator")
		for groups, want := range map[string]string{
			"platform": "oidc:alice@example.com operator", "audit": "oidc:alice@example.com viewer",
			"map-people": "oidc:alice@example.com member maps,search", "sales": "oidc:alice@example.com member search",
		} {
			h.issuer.Claims["groups"] = groups
			expect(t, groups, who(h.other, h.signOn(t)), want)
		}
		h.issuer.Claims["email_verified"], h.issuer.Claims["groups"] = false, "audit"
		expect(t, "without a verified address", who(h.other, h.signOn(t)), "oidc:alice viewer")
		h.issuer.Claims["email"], h.issuer.Claims["email_verified"] = "ROOT@example.com", true
		expect(t, "by an operator's address", who(h.other, h.signOn(t)), "oidc:ROOT@example.com operator")
	})
}

func TestWhatDoesNotLogIn(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		for _, presented := range []string{"", "wrong", token + "x", mapsKey + "x", "slk_unknownteams_CANARY"} {
			if secret, err := h.Login(t.Context(), visitor, presented); !errors.Is(err, access.ErrWrong) || secret != "" {
				t.Errorf("%q: %v", presented, err)
			}
		}
		for _, secret := range []string{"", "x", token, mapsKey, h.NewLink()} {
			expect(t, "a cookie "+secret, who(h.Desk, secret), "nobody")
		}
		if _, err := h.Bearer(t.Context(), visitor, h.login(t, token)); !errors.Is(err, access.ErrWrong) {
			t.Errorf("a session's secret as a token: %v", err)
		}
		if _, err := h.Bearer(t.Context(), visitor, mapsKey); !errors.Is(err, access.ErrWrong) {
			t.Errorf("a team's key as a token: %v", err)
		}
		h.token = "" // none is set: SHA-256 of nothing must not do
		if _, err := h.Bearer(t.Context(), visitor, ""); !errors.Is(err, access.ErrWrong) {
			t.Errorf("no token where none is set: %v", err)
		}
	})
}

func TestALinkWorksOnceAndForTenMinutes(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		try := func(code string) error {
			_, err := h.ByCode(t.Context(), visitor, code)
			return err
		}
		code := h.NewLink()
		if err := try(code); err != nil {
			t.Errorf("a new link: %v", err)
		}
		if err := try(code); !errors.Is(err, access.ErrWrong) {
			t.Errorf("the second time: %v", err)
		}
		code = h.NewLink()
		time.Sleep(access.LinkLife)
		if err := try(code); !errors.Is(err, access.ErrWrong) {
			t.Errorf("after ten minutes: %v", err)
		}
		code = h.NewLink()
		if err := try("x" + code[1:]); !errors.Is(err, access.ErrWrong) {
			t.Errorf("a guess: %v", err)
		}
		if err := try(code); err != nil {
			t.Errorf("after a guess: %v", err)
		}
		if err := try(""); !errors.Is(err, access.ErrWrong) {
			t.Errorf("no code: %v", err)
		}
	})
}

func TestASessionGrowsIdleAndEnds(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		idle, looked, used := h.login(t, token), h.login(t, token), h.login(t, token)
		time.Sleep(access.Idle - time.Minute)
		_, _ = h.Know(t.Context(), visitor, looked, false)
		who(h.Desk, used)
		time.Sleep(time.Minute)
		expect(t, "idle for an hour", who(h.Desk, idle), "nobody")
		expect(t, "looked at by a page alone", who(h.Desk, looked), "nobody")
		expect(t, "used", who(h.Desk, used), "token operator")
		for range 22 { // to 11:59:50
			time.Sleep(access.Idle/2 - 10*time.Second)
			expect(t, "used", who(h.Desk, used), "token operator")
		}
		time.Sleep(5 * time.Minute)
		expect(t, "after twelve hours of use", who(h.Desk, used), "nobody")
	})
}

func TestEveryLoginHasANewSecret(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		if first, second := h.login(t, token), h.login(t, token); first == second {
			t.Error("two logins have one secret")
		}
	})
}

// TestASessionEndsWhenRightsChange: for good, with the next request, whichever replica gets it.
func TestASessionEndsWhenRightsChange(t *testing.T) {
	for about, tt := range map[string]struct {
		login  func(t *testing.T, h *house) string
		change func(h *house)
		undo   func(h *house)
	}{
		"another token": {
			func(t *testing.T, h *house) string { return h.login(t, token) },
			func(h *house) { h.token = "another" }, func(h *house) { h.token = token },
		},
		"no token": {
			func(t *testing.T, h *house) string { return h.login(t, token) },
			func(h *house) { h.token = "" }, func(h *house) { h.token = token },
		},
		"the key is removed": {
			func(t *testing.T, h *house) string { return h.login(t, mapsKey) },
			func(h *house) { delete(h.teams.keys, mapsKey) }, func(h *house) { h.teams.keys[mapsKey] = "maps" },
		},
		"another key of that name": {
			func(t *testing.T, h *house) string { return h.login(t, mapsKey) },
			func(h *house) { delete(h.teams.keys, mapsKey); h.teams.keys[mapsKey+"x"] = "maps" },
			func(h *house) { delete(h.teams.keys, mapsKey+"x"); h.teams.keys[mapsKey] = "maps" },
		},
		"the key moves to another team": {
			func(t *testing.T, h *house) string { return h.login(t, mapsKey) },
			func(h *house) { h.teams.keys[mapsKey] = "search" }, func(h *house) { h.teams.keys[mapsKey] = "maps" },
		},
		"a team's members": {
			func(t *testing.T, h *house) string { h.issuer.Claims["groups"] = "map-people"; return h.signOn(t) },
			func(h *house) { h.teams.members["maps"] = nil }, func(h *house) { h.teams.members["maps"] = []string{"map-people"} },
		},
	} {
		t.Run(about, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *house) {
				secret := tt.login(t, h)
				if who(h.Desk, secret) == "nobody" {
					t.Fatal("not logged in")
				}
				tt.change(h)
				expect(t, "after the change", who(h.Desk, secret), "nobody")
				tt.undo(h)
				expect(t, "when it is undone, at another replica", who(h.other, secret), "nobody")
			})
		})
	}
}

func TestSessionsAreListedAndRevoked(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		operator, member := h.login(t, token), h.login(t, mapsKey)
		h.teams.keys["slk_searchsearch_CANARY"] = "search"
		stranger := h.login(t, "slk_searchsearch_CANARY")
		list := func(secret string) (names string) {
			person, _ := h.Know(t.Context(), visitor, secret, true)
			sessions, err := h.other.Sessions(t.Context(), person)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sessions {
				names += s.Person.Name + " "
			}
			return names
		}
		expect(t, "an operator's list", list(operator), "key:searchsearch key:mapsmapsmaps token ")
		expect(t, "a member's list", list(member), "key:mapsmapsmaps ")
		expect(t, "nobody's list", list(""), "")
		revoke := func(by, whose string) bool {
			person, _ := h.Know(t.Context(), visitor, by, true)
			ok, err := h.Revoke(t.Context(), visitor, person, access.SessionID(whose))
			if err != nil {
				t.Error(err)
			}
			return ok
		}
		if revoke(member, stranger) || revoke(member, operator) || revoke(operator, "unknown") {
			t.Error("a foreign or unknown session was revoked")
		}
		expect(t, "a stranger's session", who(h.other, stranger), "key:searchsearch member search")
		if !revoke(operator, stranger) || !revoke(member, member) {
			t.Error("a session was not revoked")
		}
		expect(t, "entries", strings.Join(h.ended, ", "), "token at 192.0.2.1 ended key:searchsearch")
		expect(t, "revoked", who(h.other, stranger), "nobody")
		expect(t, "revoked by its owner", who(h.other, member), "nobody")
		if err := h.End(t.Context(), operator); err != nil {
			t.Error(err)
		}
		expect(t, "logged out", who(h.other, operator), "nobody")
	})
}

// TestASessionEndsWithoutAnEntry: a session ends also if its entry cannot be written.
func TestASessionEndsWithoutAnEntry(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		operator, member := h.login(t, token), h.login(t, mapsKey)
		h.unwritten = errors.New("the directory is faulty")
		person, _ := h.Know(t.Context(), visitor, operator, true)
		if ok, err := h.Revoke(t.Context(), visitor, person, access.SessionID(member)); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		expect(t, "revoked", who(h.other, member), "nobody")
		if !strings.Contains(h.log.String(), `"level":"ERROR","msg":"console session revoked without an entry in the audit","error":"the directory is faulty"`) {
			t.Errorf("the log does not say so: %s", h.log.String())
		}
	})
}

// leaving is a store whose client leaves as soon as a session has ended.
type leaving struct {
	access.Store
	leave func()
}

func (l leaving) Take(ctx context.Context, kind, name string) ([]byte, error) {
	value, err := l.Store.Take(ctx, kind, name)
	l.leave()
	return value, err
}

// TestAClientThatLeavesEndsNoSessionWithoutAnEntry: the audit has an entry of the session's end even if the client hangs up first.
func TestAClientThatLeavesEndsNoSessionWithoutAnEntry(t *testing.T) {
	bubble(t, func(t *testing.T, h *house) {
		operator, member := h.login(t, token), h.login(t, mapsKey)
		ctx, leave := context.WithCancel(t.Context())
		person, _ := h.Know(ctx, visitor, operator, true)
		written := errors.New("not asked for")
		desk := access.NewDesk(access.Deps{
			Now: time.Now, Shared: leaving{h.store, leave}, Secret: func() []byte { return []byte(h.secret) }, Teams: h.teams, Log: slog.New(slog.DiscardHandler),
			Ended: func(ctx context.Context, _ access.Person, _ string, _ *access.Session) error {
				written = ctx.Err()
				return written
			},
		})
		if ok, err := desk.Revoke(ctx, visitor, person, access.SessionID(member)); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		expect(t, "revoked", who(h.other, member), "nobody")
		if written != nil {
			t.Errorf("the entry: %v", written)
		}
	})
}
