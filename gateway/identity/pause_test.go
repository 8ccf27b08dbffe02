package identity_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/gateway/identity"
	"sluice/gateway/identity/identitytest"
)

// TestAWithdrawnKeyEndsWithoutTokens: when no token has come for a while, the first ones wait for the keys of now. Only an issuer that is
// away leaves them the old ones.
func TestAWithdrawnKeyEndsWithoutTokens(t *testing.T) {
	for _, pause := range []time.Duration{10 * time.Minute, 59 * time.Minute} {
		s := newStand(t)
		if _, err := s.Identify(t.Context(), s.token(t, nil)); err != nil {
			t.Fatal(err)
		}
		s.Offer(identitytest.NewECDSA(t, "next").JSONWebKey)
		s.pass(pause)
		var all sync.WaitGroup
		for range 8 {
			token := s.token(t, nil)
			all.Go(func() {
				if _, err := s.Identify(t.Context(), token); !errors.Is(err, identity.ErrSignature) {
					t.Errorf("a withdrawn key, %v later: %v", pause, err)
				}
			})
		}
		all.Wait()
	}
}
