package access

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"sluice/gateway/oidc"
)

// SignOn is a login at the issuer.
type SignOn struct {
	Address string // at the issuer, for the browser
	Secret  string // for a cookie that lives for SignOnLife; state, nonce and verifier are derived from it
}

// CanSignOn reports whether there is an issuer.
func (c *Control) CanSignOn() bool { return c.deps.Issuer != nil }

// SignOn begins a login at the issuer. [Control.Return] returns next, which must not be empty.
func (c *Control) SignOn(ctx context.Context, v Visitor, next string) (SignOn, error) {
	if !c.CanSignOn() {
		return SignOn{}, ErrWrong
	}
	if !c.attempts.counts(ctx, "sign-ons of "+network(v.Client), signOnsOfAddress) {
		c.deps.Bounds.SignOns()
		return SignOn{}, ErrOften
	}
	s := SignOn{Secret: c.signer.newSecret(kindSignOn)}
	var err error
	s.Address, err = c.deps.Issuer.Begin(ctx, derive(s.Secret, "state"), derive(s.Secret, "nonce"), derive(s.Secret, "verifier"))
	if err != nil {
		c.deps.Log.LogAttrs(ctx, slog.LevelError, "console sign-on", slog.String("error", err.Error()))
		return SignOn{}, ErrAway
	}
	return s, away(c.signOns.put(ctx, nameOf(s.Secret), &begun{next, c.deps.Now()}, SignOnLife))
}

// Return ends a login at the issuer: signOn is the cookie's secret, state and code come from the issuer. A state works once, and only in
// the browser that began. For anything but an answer to this browser's sign-on the error is [ErrNotBegun], and the state stays valid:
// another site can send a browser here. Sign-ons were counted when they began.
func (c *Control) Return(ctx context.Context, v Visitor, signOn, state, code string) (secret, next string, err error) {
	if !c.CanSignOn() || !c.signer.gave(kindSignOn, signOn) || subtle.ConstantTimeCompare([]byte(state),
		[]byte(derive(signOn, "state"))) == 0 {
		return "", "", ErrNotBegun
	}
	b, err := c.signOns.end(ctx, nameOf(signOn))
	if err != nil {
		return "", "", err
	}
	identity, grant, err := c.deps.Issuer.Finish(ctx, code, derive(signOn, "nonce"), derive(signOn, "verifier"))
	if err != nil {
		outside := ErrWrong
		if errors.Is(err, oidc.ErrAway) {
			outside = ErrAway
		}
		return "", "", c.attempts.refused(ctx, v, ByIssuer, errors.Join(outside, err)) // the issuer's error is for the log
	}
	person, ok := c.personOf(identity)
	if !ok {
		return "", "", c.attempts.refused(ctx, v, ByIssuer, ErrNoRights)
	}
	secret, err = c.admit(ctx, v, person, func(secret string) Proof {
		return proofOf(identity, grant, secret, c.deps.Now())
	})
	return secret, b.Next, err
}

// personOf returns the issuer's person with its rights.
func (c *Control) personOf(id oidc.Identity) (Person, bool) {
	return c.deps.Groups.person(id, c.deps.Teams)
}

func proofOf(id oidc.Identity, grant oidc.Grant, secret string, now time.Time) Proof {
	return Proof{Way: ByIssuer, Subject: id.Subject, Email: id.Email, Groups: id.Groups, Checked: now, Grant: sealGrant(secret, grant)}
}

func sealGrant(secret string, grant oidc.Grant) []byte {
	text, err := json.Marshal(grant)
	if err != nil {
		panic(err) // every field can be encoded
	}
	return seal(secret, text)
}
