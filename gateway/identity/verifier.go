package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	"sluice/policy/teams"
)

const (
	maxToken   = 8 << 10         // bytes of a token
	maxLife    = 24 * time.Hour  // from a token's iat to its exp
	leeway     = 5 * time.Minute // between the clocks of an issuer and this machine, as go-oidc allows it for nbf
	remembered = 5 * time.Minute // how long a verified token is not verified again
)

// Errors of [Verifier.Identify], for the log. None contains a part of a token.
var (
	ErrForm      = errors.New("the token is not a signed JWT of at most 8 KiB, without crit and b64")
	ErrClaims    = errors.New("the token's claims are not a JSON object with each name once, and iss, aud, exp, iat and nbf in these letters")
	ErrIssuer    = errors.New("the token's issuer and audience are not in the teams file")
	ErrAlgorithm = errors.New("the token's algorithm is not one that the teams file allows for its issuer")
	ErrKeys      = errors.New("the issuer's keys cannot be fetched")
	ErrSignature = errors.New("the token's signature is not by a key of its issuer")
	ErrExpired   = errors.New("the token has expired, or says no end")
	ErrFuture    = errors.New("the token is not valid yet, or its times cannot be read")
	ErrLife      = errors.New("the token is valid for more than 24 hours, or does not say since when")
	ErrSubject   = errors.New("the token has no subject")
	ErrClaim     = errors.New("the token has no claim that the teams file gives a team")
)

// Identity is whom a token names.
type Identity struct {
	Team string // the id of the team
	// Key stands for the issuer and the subject in place of a key's id: "jwt:" and 12 hexadecimal digits. It is the same for
	// every token of a subject.
	Key string
	// Waited is how long this call waited for the issuer's keys; also with an error.
	Waited time.Duration
}

// Config says how a Verifier works.
type Config struct {
	Now   func() time.Time
	Fetch Fetch // gets the documents of issuers; nil: [Get]
	// Hangs is called when a token no longer waits for an issuer that does not answer. Nil: nobody is told.
	Hangs func()
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	now    func() time.Time
	fetch  Fetch
	hangs  func()
	follow sync.Mutex
	set    atomic.Pointer[set]
	calls  sync.WaitGroup // refreshes of keys
}

// set is what belongs to one reading of the teams file.
type set struct {
	issuers []*issuer
	known   *memory
}

// issuer is one issuer of the teams file.
type issuer struct {
	teams.Issuer
	keys *keys // shared by the issuers of one URL
}

// New returns a Verifier that accepts nothing until [Verifier.Follow] gives it issuers. It connects to nothing.
func New(config Config) *Verifier {
	v := &Verifier{now: config.Now, fetch: config.Fetch, hangs: config.Hangs}
	if v.fetch == nil {
		v.fetch = Get
	}
	v.set.Store(&set{})
	return v
}

// Follow replaces the issuers. Keys that were fetched stay; tokens that were verified are verified again.
func (v *Verifier) Follow(issuers []*teams.Issuer) {
	v.follow.Lock()
	defer v.follow.Unlock()
	before := v.set.Load().issuers
	if slices.EqualFunc(before, issuers, func(a *issuer, b *teams.Issuer) bool { return a.same(b) }) {
		return
	}
	next := &set{known: new(memory)}
	for _, i := range issuers {
		next.issuers = append(next.issuers, &issuer{*i, v.keysOf(i.URL, slices.Concat(next.issuers, before))})
	}
	v.set.Store(next)
}

// keysOf returns the keys of a URL: those that an issuer has already, or new ones.
func (v *Verifier) keysOf(url string, issuers []*issuer) *keys {
	for _, i := range issuers {
		if i.URL == url {
			return i.keys
		}
	}
	return &keys{issuer: url, now: v.now, fetch: v.fetch, calls: &v.calls, hangs: v.hangs, fetches: rate.NewLimiter(rate.Every(pause), 1)}
}

// Close waits for fetches that are under way, a few seconds at most.
func (v *Verifier) Close() { v.calls.Wait() }

// Identify verifies a token. It may wait for the issuer's keys, two seconds at most.
func (v *Verifier) Identify(ctx context.Context, token string) (Identity, error) {
	s := v.set.Load()
	if len(s.issuers) == 0 || len(token) > maxToken {
		return Identity{}, ErrForm
	}
	sum := sha256.Sum256([]byte(token))
	if id, ok := s.known.get(sum, v.now()); ok {
		return id, nil
	}
	told, err := read(token)
	if err != nil {
		return Identity{}, err
	}
	err = ErrIssuer
	var waited time.Duration
	for _, i := range s.issuers {
		if !i.issued(told) {
			continue
		}
		var id Identity
		var until time.Time
		if id, until, err = i.identify(ctx, token, told, v.now(), &waited); err == nil {
			s.known.put(sum, id, until)
			id.Waited = waited
			return id, nil
		}
	}
	return Identity{Waited: waited}, err
}

// same reports whether an issuer of the teams file is still the same.
func (i *issuer) same(o *teams.Issuer) bool {
	return i.URL == o.URL && i.Audience == o.Audience && i.Claim == o.Claim && slices.Equal(i.Algorithms, o.Algorithms) && maps.Equal(i.Teams, o.Teams)
}

// issued reports whether a token says that it is by this issuer and for us.
func (i *issuer) issued(told told) bool {
	return told.Issuer == i.URL && slices.Contains(told.Audience, i.Audience)
}

// identify verifies a token of this issuer, and adds the time that it waited for the issuer. Until is how long the token need not be
// verified again.
func (i *issuer) identify(ctx context.Context, token string, told told, now time.Time, waited *time.Duration) (id Identity, until time.Time, err error) {
	if !slices.Contains(i.Algorithms, told.algorithm) {
		return id, until, ErrAlgorithm
	}
	verified, err := i.verify(ctx, token, now, waited)
	switch {
	case err != nil:
		return id, until, err
	case verified.IssuedAt.After(now.Add(leeway)):
		return id, until, ErrFuture
	case verified.IssuedAt.IsZero() || verified.Expiry.Sub(verified.IssuedAt) > maxLife:
		return id, until, ErrLife
	}
	team, subject, err := i.team(verified)
	if err != nil {
		return id, until, err
	}
	until = now.Add(remembered)
	if verified.Expiry.Before(until) {
		until = verified.Expiry
	}
	return Identity{Team: team, Key: label(verified.Issuer, subject)}, until, nil
}

// verify lets go-oidc verify a token. Its errors can quote the token, so ours stand for them.
func (i *issuer) verify(ctx context.Context, token string, now time.Time, waited *time.Duration) (*oidc.IDToken, error) {
	signature := &witness{keys: i.keys, waited: waited}
	config := &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: i.Algorithms, Now: func() time.Time { return now }}
	verified, err := oidc.NewVerifier(i.URL, signature, config).Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case err == nil:
		return verified, nil
	case signature.err != nil:
		return nil, signature.err
	case errors.As(err, &expired):
		return nil, ErrExpired
	}
	return nil, ErrFuture // issuer, audience and algorithm were compared before
}

// witness remembers why a signature was refused, because go-oidc passes only the text on, and how long the issuer took.
type witness struct {
	keys   *keys
	waited *time.Duration
	err    error
}

// VerifySignature implements [oidc.KeySet].
func (w *witness) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, waited, err := w.keys.payload(ctx, token)
	*w.waited += waited
	w.err = err
	return payload, err
}

// team returns the team of a verified token, and its subject. The subject is wanted also if another claim names the team: it stands
// for the holder in the log. The party for which a token was made (azp) is not compared: it is the workload that sends the token, and an
// issuer may name several audiences.
func (i *issuer) team(verified *oidc.IDToken) (team, subject string, err error) {
	var claims map[string]json.RawMessage
	var value string
	if verified.Claims(&claims) != nil || json.Unmarshal(claims["sub"], &subject) != nil || subject == "" { // go-oidc takes SUB for it
		return "", "", ErrSubject
	}
	if json.Unmarshal(claims[i.Claim], &value) != nil {
		return "", "", ErrClaim
	}
	team, ok := i.Teams[value]
	if !ok {
		return "", "", ErrClaim
	}
	return team, subject, nil
}

// label stands for a subject in the log.
func label(issuer, subject string) string {
	sum := sha256.Sum256([]byte(issuer + "\n" + subject)) // no issuer of the teams file has a line break
	return "jwt:" + hex.EncodeToString(sum[:6])
}

// IsToken reports whether what a client presented has the form of a token.
func IsToken(presented string) bool { return strings.Count(presented, ".") == 2 }
