package identity_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/identity"
	"sluice/gateway/identity/identitytest"
)

// TestAnIssuerThatHangsHoldsUpNothingKnown: while strangers' tokens wait for keys, those of known keys do not.
func TestAnIssuerThatHangsHoldsUpNothingKnown(t *testing.T) {
	s := newStand(t)
	var hangs atomic.Bool
	over := make(chan struct{})
	v := identity.New(identity.Config{Now: s.clock, Fetch: func(ctx context.Context, address string) ([]byte, error) {
		if hangs.Load() {
			<-over
			return nil, errors.New("away")
		}
		return identity.Get(ctx, address)
	}})
	v.Follow(s.list)
	seen := s.token(t, nil)
	if _, err := v.Identify(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	hangs.Store(true)
	s.pass(6 * time.Minute) // its keys are no longer fresh
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	stranger := identitytest.NewECDSA(t, "invented")
	for range 50 {
		token := identitytest.Sign(t, "ES256", stranger.Private, "invented", s.claims(nil))
		go func() {
			_, _ = v.Identify(ctx, token)
			left <- struct{}{}
		}()
	}
	done := make(chan error)
	go func() {
		for _, token := range []string{seen, s.token(t, nil), s.token(t, nil)} {
			if _, err := v.Identify(t.Context(), token); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-left:
		t.Error("a stranger's token did not wait")
	}
	leave()
	for range 50 {
		<-left
	}
	close(over)
	v.Close()
}
