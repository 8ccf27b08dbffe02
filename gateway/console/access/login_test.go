package access_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

func TestEachWayOfLoggingIn(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
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
	bubble(t, func(t *testing.T, h *replicas) {
		for _, presented := range []string{"", "wrong", token + "x", mapsKey + "x", "slk_unknownteams_CANARY"} {
			if secret, err := h.Login(t.Context(), visitor, presented); !errors.Is(err, access.ErrWrong) || secret != "" {
				t.Errorf("%q: %v", presented, err)
			}
		}
		for _, secret := range []string{"", "x", token, mapsKey, h.NewLink()} {
			expect(t, "a cookie "+secret, who(h.Control, secret), "nobody")
		}
		if _, err := h.Bearer(t.Context(), visitor, h.login(t, token)); !errors.Is(err, access.ErrWrong) {
			t.Errorf("a session's secret as a token: %v", err)
		}
		if _, err := h.Bearer(t.Context(), visitor, mapsKey); !errors.Is(err, access.ErrWrong) {
			t.Errorf("a team's key as a token: %v", err)
		}
		h.token = "" // none is set: SHA-256 of nothing must not pass
		if _, err := h.Bearer(t.Context(), visitor, ""); !errors.Is(err, access.ErrWrong) {
			t.Errorf("no token where none is set: %v", err)
		}
	})
}

func TestALinkWorksOnceAndForTenMinutes(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
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

// TestALinkIsNotUsedUpInVain: if the store is away and no session begins, the link works again later, once.
func TestALinkIsNotUsedUpInVain(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		away := true
		control := h.replica(h.away(&away))
		try := func(code string) error {
			_, err := control.ByCode(t.Context(), visitor, code)
			return err
		}
		code := control.NewLink()
		if err := try(code); !errors.Is(err, access.ErrAway) {
			t.Errorf("while the store is away: %v", err)
		}
		away = false
		if err := try(code); err != nil {
			t.Errorf("when it is back: %v", err)
		}
		if err := try(code); !errors.Is(err, access.ErrWrong) {
			t.Errorf("the second time: %v", err)
		}
		away, code = true, control.NewLink()
		_ = try(code)
		away = false
		time.Sleep(access.LinkLife)
		if err := try(code); !errors.Is(err, access.ErrWrong) {
			t.Errorf("after ten minutes: %v", err)
		}
	})
}

// TestALinkIsRaced by many browsers concurrently: one of them gets a session.
func TestALinkIsRaced(t *testing.T) {
	bubble(t, func(t *testing.T, h *replicas) {
		code := h.NewLink()
		var all sync.WaitGroup
		won := make(chan string, 10)
		for range cap(won) {
			all.Go(func() {
				if secret, err := h.ByCode(t.Context(), visitor, code); err == nil {
					won <- secret
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Errorf("%d sessions", len(won))
		}
	})
}
