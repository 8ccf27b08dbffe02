package access_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

func TestASessionGrowsIdleAndEnds(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		idle, looked, used := h.login(t, token), h.login(t, token), h.login(t, token)
		time.Sleep(access.Idle - time.Minute)
		_, _ = h.Know(t.Context(), visitor, looked, false)
		who(h.Control, used)
		time.Sleep(time.Minute)
		expect(t, "idle for an hour", who(h.Control, idle), "nobody")
		expect(t, "looked at by a page alone", who(h.Control, looked), "nobody")
		expect(t, "used", who(h.Control, used), "token operator")
		for range 22 { // to 11:59:50
			time.Sleep(access.Idle/2 - 10*time.Second)
			expect(t, "used", who(h.Control, used), "token operator")
		}
		time.Sleep(5 * time.Minute)
		expect(t, "after twelve hours of use", who(h.Control, used), "nobody")
	})
}

func TestEveryLoginHasANewSecret(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		if first, second := h.login(t, token), h.login(t, token); first == second {
			t.Error("two logins have one secret")
		}
	})
}

// TestASessionEndsWhenRightsChange: permanently, with the next request, whichever replica gets it.
func TestASessionEndsWhenRightsChange(t *testing.T) {
	for about, tt := range map[string]struct {
		login  func(t *testing.T, h *replicas) string
		change func(h *replicas)
		undo   func(h *replicas)
	}{
		"another token": {
			func(t *testing.T, h *replicas) string { return h.login(t, token) },
			func(h *replicas) { h.token = "another" }, func(h *replicas) { h.token = token },
		},
		"no token": {
			func(t *testing.T, h *replicas) string { return h.login(t, token) },
			func(h *replicas) { h.token = "" }, func(h *replicas) { h.token = token },
		},
		"the key is removed": {
			func(t *testing.T, h *replicas) string { return h.login(t, mapsKey) },
			func(h *replicas) { delete(h.teams.keys, mapsKey) }, func(h *replicas) { h.teams.keys[mapsKey] = "maps" },
		},
		"another key of that name": {
			func(t *testing.T, h *replicas) string { return h.login(t, mapsKey) },
			func(h *replicas) { delete(h.teams.keys, mapsKey); h.teams.keys[mapsKey+"x"] = "maps" },
			func(h *replicas) { delete(h.teams.keys, mapsKey+"x"); h.teams.keys[mapsKey] = "maps" },
		},
		"the key moves to another team": {
			func(t *testing.T, h *replicas) string { return h.login(t, mapsKey) },
			func(h *replicas) { h.teams.keys[mapsKey] = "search" }, func(h *replicas) { h.teams.keys[mapsKey] = "maps" },
		},
		"a team's members": {
			func(t *testing.T, h *replicas) string { h.issuer.Claims["groups"] = "map-people"; return h.signOn(t) },
			func(h *replicas) { h.teams.members["maps"] = nil }, func(h *replicas) { h.teams.members["maps"] = []string{"map-people"} },
		},
	} {
		t.Run(about, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *replicas) {
				secret := tt.login(t, h)
				if who(h.Control, secret) == "nobody" {
					t.Fatal("not logged in")
				}
				tt.change(h)
				expect(t, "after the change", who(h.Control, secret), "nobody")
				tt.undo(h)
				expect(t, "when it is undone, at another replica", who(h.other, secret), "nobody")
			})
		})
	}
}

func TestSessionsAreListedAndRevoked(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
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
	bubble(t, func(t *testing.T, h *replicas) {
		operator, member := h.login(t, token), h.login(t, mapsKey)
		h.unwritten = errors.New("the directory is faulty")
		person, _ := h.Know(t.Context(), visitor, operator, true)
		if ok, err := h.Revoke(t.Context(), visitor, person, access.SessionID(member)); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		expect(t, "revoked", who(h.other, member), "nobody")
		if !strings.Contains(h.log.String(), `"level":"ERROR","msg":"console session revoked without an entry in the audit",`+
			`"error":"the directory is faulty"`) {
			t.Errorf("the log does not say so: %s", h.log.String())
		}
	})
}

// TestAClientThatLeavesEndsNoSessionWithoutAnEntry: the audit has an entry of the session's end even if the client hangs up first.
func TestAClientThatLeavesEndsNoSessionWithoutAnEntry(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		operator, member := h.login(t, token), h.login(t, mapsKey)
		ctx, leave := context.WithCancel(t.Context())
		person, _ := h.Know(ctx, visitor, operator, true)
		written := errors.New("not asked for")
		control := access.New(access.Deps{
			Now: time.Now, Shared: hooked{h.store, func(_ context.Context, call string) error {
				if call == "Take" {
					leave()
				}
				return nil
			}}, Secret: func() []byte { return []byte(h.secret) }, Teams: h.teams, Log: slog.New(slog.DiscardHandler),
			Ended: func(ctx context.Context, _ access.Person, _ string, _ *access.Session) error {
				written = ctx.Err()
				return written
			},
		})
		if ok, err := control.Revoke(ctx, visitor, person, access.SessionID(member)); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		expect(t, "revoked", who(h.other, member), "nobody")
		if written != nil {
			t.Errorf("the entry: %v", written)
		}
	})
}

// TestASessionEndsAlsoIfAnAnswerWasLost: the store kept a login whose answer did not arrive, and is away when the session ends. The replica
// ends it there too, with its next request after that.
func TestASessionEndsAlsoIfAnAnswerWasLost(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		lost, away := true, false
		control := h.replica(losing{hooked{h.store, func(context.Context, string) error {
			if away {
				return errors.New("broken")
			}
			return nil
		}}, &lost})
		secret, err := control.Login(t.Context(), visitor, token)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "after a lost answer, elsewhere", who(h.other, secret), "token operator")
		away = true
		if err := control.End(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		expect(t, "ended while the store is away", who(control, secret), "nobody")
		lost, away = false, false
		who(control, h.login(t, token))
		expect(t, "ended, elsewhere", who(h.other, secret), "nobody")
	})
}

// losing is a store whose answers to Put are lost while a flag is set.
type losing struct {
	access.Store
	is *bool
}

func (s losing) Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error {
	err := s.Store.Put(ctx, kind, name, value, life)
	if *s.is {
		return errors.New("no answer")
	}
	return err
}
