package oidc_test

import (
	"crypto/rand"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
	"sluice/policy/teams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type claims = oidctest.Claims

// roundTrip is a function in place of a network.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hangs does not answer until its caller gives up.
var hangs = roundTrip(func(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
})

// workloads are a verifier and its issuer, without a network.
type workloads struct {
	*oidctest.Issuer
	*oidc.Verifier
	list []*teams.Issuer

	network http.RoundTripper // between the two; at first the issuer
	gave    int               // how many tokens gave up waiting
}

// verify runs a test in simulated time.
func verify(t *testing.T, test func(t *testing.T, w *workloads)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkloads(oidctest.New("https://issuer.example", time.Now))
		defer w.Close()
		test(t, w)
	})
}

func newWorkloads(issuer *oidctest.Issuer) *workloads {
	w := &workloads{Issuer: issuer, network: issuer}
	w.Verifier = oidc.NewVerifier(oidc.VerifierConfig{
		Now: time.Now, Trip: roundTrip(func(r *http.Request) (*http.Response, error) {
			w.Lock()
			network := w.network
			w.Unlock()
			return network.RoundTrip(r)
		}), Hangs: func() { w.Change(func() { w.gave++ }) },
	})
	w.list = []*teams.Issuer{{
		URL: w.URL, Audience: "sluice", Algorithms: []string{"RS256", "ES256"}, Claim: "sub",
		Teams: map[string]string{"system:serviceaccount:search:indexer": "search"},
	}}
	w.Follow(w.list)
	return w
}

// claims are those of a valid token, with changes.
func (w *workloads) claims(changes claims) claims {
	now := time.Now()
	return changed(claims{
		"iss": w.URL, "aud": []string{"other", "sluice"}, "sub": "system:serviceaccount:search:indexer",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": rand.Text(),
	}, changes)
}

// changed are claims with changes; a change to nil leaves a claim out.
func changed(c, changes claims) claims {
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func (w *workloads) token(changes claims) string { return w.Sign(w.claims(changes)) }

// takes fails the test unless a token is accepted, and returns the workload that it names.
func (w *workloads) takes(t *testing.T, about, token string) oidc.Workload {
	t.Helper()
	named, err := w.Identify(t.Context(), token)
	if err != nil || named.Team == "" {
		t.Errorf("%s: %+v, %v", about, named, err)
	}
	return named
}
