package oidc_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
	"sluice/policy/teams"
)

// refuses fails the test unless a token gets that error.
func (w *workloads) refuses(t *testing.T, about, token string, want error) {
	t.Helper()
	if named, err := w.Identify(t.Context(), token); !errors.Is(err, want) {
		t.Errorf("%s: %+v, %v, want %v", about, named, err, want)
	}
}

// TestKeysAreReplaced: a new key of the issuer is accepted immediately, a withdrawn one for at most five minutes.
func TestKeysAreReplaced(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		w.takes(t, "the first key", w.token(nil))
		next := oidctest.NewECDSA("next")
		w.Change(func() { w.Keys = append(w.Keys[:0:0], next.JSONWebKey) })
		time.Sleep(time.Minute)
		w.takes(t, "a new key", oidctest.Sign("ES256", next.Private, "next", w.claims(nil), nil))
		w.refuses(t, "a withdrawn key", w.token(nil), oidc.ErrSignature)
	})
}

// withdraw replaces the issuer's key by another one.
func (w *workloads) withdraw() {
	w.Change(func() { w.Keys = append(w.Keys[:0:0], oidctest.NewECDSA("next").JSONWebKey) })
}

func TestAWithdrawnKeyEnds(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		token := w.token(nil)
		w.takes(t, "at first", token)
		w.withdraw()
		time.Sleep(5*time.Minute - time.Second)
		w.takes(t, "before five minutes", token)
		time.Sleep(time.Second)
		_, _ = w.Identify(t.Context(), token) // the keys are fetched beside it
		synctest.Wait()
		time.Sleep(5 * time.Minute)
		w.refuses(t, "a withdrawn key", token, oidc.ErrSignature)
	})
}

// TestAWithdrawnKeyEndsWithoutTokens: when no token has arrived for a while, the first ones wait for current keys. The old ones
// serve only if the issuer is away.
func TestAWithdrawnKeyEndsWithoutTokens(t *testing.T) {
	for _, pause := range []time.Duration{10 * time.Minute, 59 * time.Minute} {
		verify(t, func(t *testing.T, w *workloads) {
			w.takes(t, "at first", w.token(nil))
			w.withdraw()
			time.Sleep(pause)
			var all sync.WaitGroup
			for range 8 {
				token := w.token(nil)
				all.Go(func() { w.refuses(t, "a withdrawn key, "+pause.String()+" later", token, oidc.ErrSignature) })
			}
			all.Wait()
		})
	}
}

// TestKeysOutliveTheirIssuerForAnHour and no longer.
func TestKeysOutliveTheirIssuerForAnHour(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		w.takes(t, "at first", w.token(nil))
		w.Change(func() { w.Away = true })
		time.Sleep(time.Hour - time.Second)
		w.takes(t, "within the hour", w.token(nil))
		synctest.Wait()
		time.Sleep(time.Second)
		w.refuses(t, "after an hour", w.token(nil), oidc.ErrKeys)
		w.Change(func() { w.Away = false })
		time.Sleep(10 * time.Second)
		w.takes(t, "back again", w.token(nil))
	})
}

// TestTheIssuerIsSpared: whatever tokens arrive, it is called twice in ten seconds at most.
func TestTheIssuerIsSpared(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		strange := oidctest.NewECDSA("x")
		for _, away := range []bool{true, false} {
			w.Change(func() { w.Away = away })
			time.Sleep(time.Minute)
			w.Change(func() { w.Called = 0 })
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 5 {
						_, _ = w.Identify(t.Context(), w.token(nil))
						_, _ = w.Identify(t.Context(), oidctest.Sign("ES256", strange.Private, rand.Text(), w.claims(nil), nil))
					}
				})
			}
			all.Wait()
			if w.Called > 2 {
				t.Errorf("%d calls of the issuer, want at most its configuration and its keys", w.Called)
			}
		}
	})
}

// hang runs a test with an issuer that hangs after its keys were fetched once. It counts the calls.
func hang(t *testing.T, test func(t *testing.T, w *workloads, calls *int)) {
	t.Helper()
	verify(t, func(t *testing.T, w *workloads) {
		w.takes(t, "at first", w.token(nil))
		time.Sleep(time.Minute)
		calls := 0
		w.Change(func() {
			w.network = roundTrip(func(r *http.Request) (*http.Response, error) {
				w.Change(func() { calls++ })
				return hangs(r)
			})
		})
		test(t, w, &calls)
	})
}

// TestAnIssuerThatHangsHoldsUpNothingKnown: while strangers' tokens wait for keys, those of known keys do not.
func TestAnIssuerThatHangsHoldsUpNothingKnown(t *testing.T) {
	hang(t, func(t *testing.T, w *workloads, _ *int) {
		stranger := oidctest.NewECDSA("invented")
		time.Sleep(6 * time.Minute) // its keys are no longer fresh
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, _ = w.Identify(t.Context(), oidctest.Sign("ES256", stranger.Private, "invented", w.claims(nil), nil))
			})
		}
		synctest.Wait()
		before := time.Now()
		for range 3 {
			if named := w.takes(t, "a known key", w.token(nil)); named.Waited != 0 {
				t.Errorf("%+v", named)
			}
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("tokens of known keys waited %v", waited)
		}
		all.Wait()
	})
}

// TestAnIssuerThatHangsHoldsNoTokenLong: one fetch for all, and later tokens wait for the rest of two seconds, then not at all;
// that the fetch failed is remembered until the next one may begin.
func TestAnIssuerThatHangsHoldsNoTokenLong(t *testing.T) {
	hang(t, func(t *testing.T, w *workloads, calls *int) {
		stranger, begun := oidctest.NewECDSA("invented"), time.Now()
		var all sync.WaitGroup
		for after, want := range map[time.Duration]time.Duration{
			0: 2 * time.Second, time.Second: time.Second, 3 * time.Second: 0, 6 * time.Second: 0, 9 * time.Second: 0,
			10 * time.Second: 2 * time.Second,
		} {
			for range 20 {
				all.Go(func() {
					time.Sleep(after)
					named, err := w.Identify(t.Context(), oidctest.Sign("ES256", stranger.Private, "invented", w.claims(nil), nil))
					if took := time.Since(begun) - after; !errors.Is(err, oidc.ErrSignature) || took != want || named.Waited != took {
						t.Errorf("after %v: %v, it took %v and says %v, want %v", after, err, took, named.Waited, want)
					}
				})
			}
		}
		all.Wait()
		if *calls != 2 || w.gave == 0 {
			t.Errorf("%d fetches hung, want 2; %d times somebody was told", *calls, w.gave)
		}
	})
}

// TestAnIssuerThatAnswersSlowly: a token that waits is verified with the new keys, and the wait is reported.
func TestAnIssuerThatAnswersSlowly(t *testing.T) {
	verify(t, func(t *testing.T, w *workloads) {
		w.network = roundTrip(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second / 2)
			return w.RoundTrip(r)
		})
		token := w.token(nil)
		for _, want := range []time.Duration{time.Second, 0} {
			if named := w.takes(t, "a token", token); named.Waited != want {
				t.Errorf("%+v, want to have waited %v", named, want)
			}
		}
	})
}

// TestDocumentsAreBounded: a misbehaving issuer yields no keys, and its redirects and addresses are not followed.
func TestDocumentsAreBounded(t *testing.T) {
	elsewhere := oidctest.Start(t)
	for about, handler := range map[string]http.HandlerFunc{
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"another issuer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example","jwks_uri":"` + elsewhere.URL + `/keys"}`))
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		},
		"larger than 1 MiB": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"http://` + r.Host + `","jwks_uri":"` + elsewhere.URL + `/keys","x":"` +
				strings.Repeat("x", 1<<20) + `"}`))
		},
		"keys in clear text elsewhere": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"http://` + r.Host + `","jwks_uri":"http://keys.example/keys"}`))
		},
		"no keys": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"strange"}],"issuer":"http://` + r.Host + `","jwks_uri":"http://` +
				r.Host + `/keys"}`))
		},
	} {
		server := httptest.NewServer(handler)
		v := oidc.NewVerifier(oidc.VerifierConfig{Now: time.Now})
		v.Follow([]*teams.Issuer{{URL: server.URL, Audience: "sluice", Algorithms: []string{"ES256"}, Claim: "sub",
			Teams: map[string]string{"x": "search"}}})
		token := elsewhere.Sign(claims{"iss": server.URL, "aud": "sluice", "sub": "x", "iat": time.Now().Unix(),
			"exp": time.Now().Add(time.Hour).Unix()})
		if named, err := v.Identify(t.Context(), token); !errors.Is(err, oidc.ErrKeys) {
			t.Errorf("%s: %+v, %v", about, named, err)
		}
		v.Close()
		server.Close()
	}
}
