package identity_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/identity"
	"sluice/gateway/identity/identitytest"
)

// hanging is a stand's verifier in simulated time, whose issuer can hang.
type hanging struct {
	*stand
	*identity.Verifier
	stranger identitytest.Signer
	hangs    atomic.Bool
	fetches  atomic.Int64 // that hang
	given    atomic.Int64 // tokens that no longer waited
}

// hang runs a test with an issuer whose keys were fetched once.
func hang(t *testing.T, test func(t *testing.T, h *hanging)) {
	s, documents := newStand(t), map[string][]byte{}
	for _, path := range []string{"/.well-known/openid-configuration", "/keys"} {
		text, err := identity.Get(t.Context(), s.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		documents[s.URL+path] = text
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		h := &hanging{stand: s, stranger: identitytest.NewECDSA(t, "invented")}
		h.Verifier = identity.New(identity.Config{
			Now: func() time.Time { return s.clock().Add(time.Since(begun)) }, Hangs: func() { h.given.Add(1) },
			Fetch: func(ctx context.Context, address string) ([]byte, error) {
				if h.hangs.Load() {
					h.fetches.Add(1)
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return documents[address], nil
			},
		})
		defer h.Verifier.Close()
		h.Verifier.Follow(s.list)
		if _, err := h.Verifier.Identify(t.Context(), s.token(t, nil)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		h.hangs.Store(true)
		test(t, h)
	})
}

// invented is a token of a key that the issuer does not have.
func (h *hanging) invented(t *testing.T) string {
	return identitytest.Sign(t, "ES256", h.stranger.Private, "invented", h.claims(nil))
}

// TestAnIssuerThatHangsHoldsUpNothingKnown: while strangers' tokens wait for keys, those of known keys do not.
func TestAnIssuerThatHangsHoldsUpNothingKnown(t *testing.T) {
	hang(t, func(t *testing.T, h *hanging) {
		time.Sleep(6 * time.Minute) // its keys are no longer fresh
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { _, _ = h.Verifier.Identify(t.Context(), h.invented(t)) })
		}
		synctest.Wait()
		before := time.Now()
		for range 3 {
			if id, err := h.Verifier.Identify(t.Context(), h.token(t, nil)); err != nil || id.Waited != 0 {
				t.Errorf("%+v, %v", id, err)
			}
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("tokens of known keys waited %v", waited)
		}
		all.Wait()
	})
}

// TestAnIssuerThatHangsHoldsNoTokenLong: one fetch for all, and who comes later waits for what is left of two seconds, then not at all; that
// the fetch failed is remembered until the next one may begin.
func TestAnIssuerThatHangsHoldsNoTokenLong(t *testing.T) {
	hang(t, func(t *testing.T, h *hanging) {
		begun := time.Now()
		var all sync.WaitGroup
		for after, want := range map[time.Duration]time.Duration{
			0: 2 * time.Second, time.Second: time.Second, 3 * time.Second: 0, 6 * time.Second: 0, 9 * time.Second: 0, 10 * time.Second: 2 * time.Second,
		} {
			for range 20 {
				all.Go(func() {
					time.Sleep(after)
					id, err := h.Verifier.Identify(t.Context(), h.invented(t))
					if took := time.Since(begun) - after; !errors.Is(err, identity.ErrSignature) || took != want || id.Waited != took {
						t.Errorf("after %v: %v, it took %v and says %v, want %v", after, err, took, id.Waited, want)
					}
				})
			}
		}
		all.Wait()
		if n := h.fetches.Load(); n != 2 {
			t.Errorf("%d fetches hung, want 2", n)
		}
		if n := h.given.Load(); n == 0 {
			t.Error("nobody is told")
		}
	})
}

// TestAnIssuerThatAnswersSlowly: a token that waits is verified with the new keys, and says how long it waited.
func TestAnIssuerThatAnswersSlowly(t *testing.T) {
	s := newStand(t)
	configuration, err := identity.Get(t.Context(), s.URL+"/.well-known/openid-configuration")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := identity.Get(t.Context(), s.URL+"/keys")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		v := identity.New(identity.Config{
			Now: func() time.Time { return s.clock().Add(time.Since(begun)) },
			Fetch: func(_ context.Context, address string) ([]byte, error) {
				time.Sleep(time.Second / 2)
				if strings.HasSuffix(address, "/keys") {
					return keys, nil
				}
				return configuration, nil
			},
		})
		defer v.Close()
		v.Follow(s.list)
		token := s.token(t, nil)
		for _, want := range []time.Duration{time.Second, 0} {
			if id, err := v.Identify(t.Context(), token); err != nil || id.Waited != want {
				t.Errorf("%+v, %v, want to have waited %v", id, err, want)
			}
		}
	})
}
