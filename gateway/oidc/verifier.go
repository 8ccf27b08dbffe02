package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"sluice/policy/teams"
)

const (
	maxToken   = 8 << 10          // bytes of a token
	maxLife    = 24 * time.Hour   // from a token's iat to its exp
	leeway     = 5 * time.Minute  // between the clocks of an issuer and this machine, as go-oidc allows it for nbf
	remembered = 5 * time.Minute  // how long a verified token is remembered
	pause      = 10 * time.Second // between two fetches from an issuer, whatever tokens arrive
	patience   = 2 * time.Second  // how long after the beginning of a fetch tokens wait for it
)

// Workload is the holder that a token names.
type Workload struct {
	Team string // the id of the team
	// Key identifies the issuer and the subject, in place of a key's id: "jwt:" and 12 hexadecimal digits. It is the same for
	// every token of a subject.
	Key string
	// Name is "jwt:" and the subject, for reports: without spaces and control characters, at most [longestName] bytes.
	Name string
	// Waited is how long this call waited for the issuer's keys; it is also set with an error.
	Waited time.Duration
}

// VerifierConfig configures a Verifier.
type VerifierConfig struct {
	Now  func() time.Time
	Trip http.RoundTripper // to the issuers; nil: the network, directly
	// Hangs is called when a token gives up waiting for an issuer that does not answer. May be nil.
	Hangs func()
}

// Verifier verifies the tokens of workloads. It is safe for concurrent use.
type Verifier struct {
	now    func() time.Time
	http   *http.Client
	hangs  func()
	follow sync.Mutex
	set    atomic.Pointer[set]
	calls  sync.WaitGroup // of issuers
}

// set has the issuers of one version of the teams file.
type set struct {
	trusted []*trusted
	known   *memory
}

// trusted is one issuer of the teams file.
type trusted struct {
	teams.Issuer
	issuer *issuer // shared by all trusted with one URL
}

// NewVerifier returns a Verifier that accepts nothing until [Verifier.Follow] gives it issuers. It connects to nothing.
func NewVerifier(config VerifierConfig) *Verifier {
	v := &Verifier{now: config.Now, http: newHTTP(config.Trip), hangs: config.Hangs}
	v.set.Store(&set{})
	return v
}

// Follow replaces the issuers. Fetched keys are kept; tokens that were verified are verified again.
func (v *Verifier) Follow(issuers []*teams.Issuer) {
	v.follow.Lock()
	defer v.follow.Unlock()
	before := v.set.Load().trusted
	if slices.EqualFunc(before, issuers, func(a *trusted, b *teams.Issuer) bool { return a.same(b) }) {
		return
	}
	next := &set{known: new(memory)}
	for _, i := range issuers {
		next.trusted = append(next.trusted, &trusted{*i, v.issuer(i.URL, slices.Concat(next.trusted, before))})
	}
	v.set.Store(next)
}

// issuer returns the issuer with a URL: one of all, or a new one.
func (v *Verifier) issuer(url string, all []*trusted) *issuer {
	for _, t := range all {
		if t.URL == url {
			return t.issuer
		}
	}
	return &issuer{
		url: url, now: v.now, http: v.http, mayHaveKeys: teams.IsIssuerURL, patience: patience, calls: &v.calls, hangs: v.hangs,
		fetches: every(pause),
	}
}

// Close waits for the fetches under way, at most a few seconds.
func (v *Verifier) Close() { v.calls.Wait() }

// Identify verifies a token. It checks the signature only if the token's issuer, audience and algorithm are listed. It may wait for the
// issuer's keys, at most two seconds. A verified token is remembered by its SHA-256.
func (v *Verifier) Identify(ctx context.Context, token string) (Workload, error) {
	s := v.set.Load()
	if len(s.trusted) == 0 || len(token) > maxToken {
		return Workload{}, ErrForm
	}
	sum := sha256.Sum256([]byte(token))
	if w, ok := s.known.get(sum, v.now()); ok {
		return w, nil
	}
	said, err := read(token)
	if err != nil {
		return Workload{}, err
	}
	err = ErrIssuer
	var waited time.Duration
	for _, t := range s.trusted {
		if said.Issuer != t.URL || !slices.Contains(said.Audience, t.Audience) {
			continue
		}
		var w Workload
		var until time.Time
		if w, until, err = t.identify(ctx, said, v.now(), &waited); err == nil {
			s.known.put(sum, w, until)
			w.Waited = waited
			return w, nil
		}
	}
	return Workload{Waited: waited}, err
}

// same reports whether an issuer of the teams file is still the same.
func (t *trusted) same(o *teams.Issuer) bool {
	return t.URL == o.URL && t.Audience == o.Audience && t.Claim == o.Claim && slices.Equal(t.Algorithms, o.Algorithms) &&
		maps.Equal(t.Teams, o.Teams)
}

// identify verifies a token of this issuer, and adds the time that it waited for the issuer. until is when the token must be
// verified again.
func (t *trusted) identify(ctx context.Context, said unverified, now time.Time, waited *time.Duration) (w Workload, until time.Time,
	err error,
) {
	verified, err := t.issuer.verify(ctx, said, t.Audience, t.Algorithms, waited)
	switch {
	case err != nil:
		return w, until, err
	case verified.IssuedAt.After(now.Add(leeway)):
		return w, until, ErrFuture
	case verified.IssuedAt.IsZero() || verified.Expiry.Sub(verified.IssuedAt) > maxLife:
		return w, until, ErrLife
	}
	team, subject, err := t.team(verified)
	if err != nil {
		return w, until, err
	}
	until = now.Add(remembered)
	if verified.Expiry.Before(until) {
		until = verified.Expiry
	}
	sum := sha256.Sum256([]byte(verified.Issuer + "\n" + subject)) // no issuer of the teams file has a line break
	return Workload{Team: team, Key: "jwt:" + hex.EncodeToString(sum[:6]), Name: nameOf(subject)}, until, nil
}

// longestName is the length of the longest Name.
const longestName = 100

// nameOf writes a subject so that it can be a part of a key in Redis and of a line: all but letters, digits and a few signs is escaped as
// in the path of a URL. A long name is cut, and ends with a hash that distinguishes it from others.
func nameOf(subject string) string {
	name := "jwt:" + url.PathEscape(subject)
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(subject))
	end := "~" + hex.EncodeToString(sum[:6])
	return name[:longestName-len(end)] + end
}

// team returns the team of a verified token, and its subject. The subject is required even if another claim names the team: it
// identifies the holder in the log. The party for which a token was made (azp) is not compared: it is the workload that sends the
// token, and an issuer may name several audiences.
func (t *trusted) team(verified *oidc.IDToken) (team, subject string, err error) {
	var claims map[string]json.RawMessage
	var value string
	if verified.Claims(&claims) != nil || json.Unmarshal(claims["sub"], &subject) != nil || subject == "" { // go-oidc would take SUB for sub
		return "", "", ErrSubject
	}
	if json.Unmarshal(claims[t.Claim], &value) != nil {
		return "", "", ErrClaim
	}
	team, ok := t.Teams[value]
	if !ok {
		return "", "", ErrClaim
	}
	return team, subject, nil
}

// IsToken reports whether a presented key has the form of a token.
func IsToken(presented string) bool { return strings.Count(presented, ".") == 2 }
