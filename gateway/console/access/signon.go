package access

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"sluice/gateway/console/access/issuer"
)

// SignOnLife is how long a login may stay at the issuer.
const SignOnLife = 10 * time.Minute

// SignOn is a login that goes to the issuer.
type SignOn struct {
	Address string // of the issuer, for the browser
	Secret  string // for a cookie that lives for SignOnLife; state, nonce and verifier are derived from it
}

// CanSignOn reports whether there is an issuer.
func (d *Desk) CanSignOn() bool { return d.deps.Issuer != nil }

// SignOn begins a login at the issuer. next is what [Desk.Return] gives back, not empty.
func (d *Desk) SignOn(ctx context.Context, v Visitor, next string) (SignOn, error) {
	if !d.CanSignOn() {
		return SignOn{}, ErrWrong
	}
	if !d.attempts.counts(ctx, "sign-ons of "+attemptOf(v.Client, "").address, signOnsOfAddress) {
		d.deps.Bounds.SignOns()
		return SignOn{}, ErrOften
	}
	s := SignOn{Secret: d.signer.newSecret(kindSignOn)}
	var err error
	s.Address, err = d.deps.Issuer.Begin(ctx, derive(s.Secret, "state"), derive(s.Secret, "nonce"), derive(s.Secret, "verifier"))
	if err != nil {
		d.deps.Log.LogAttrs(ctx, slog.LevelError, "console sign-on", slog.String("error", err.Error()))
		return SignOn{}, ErrAway
	}
	return s, away(d.kept.Put(ctx, kindSignOn, nameOf(s.Secret), begunAt(next, d.deps.Now()), SignOnLife))
}

// begun is what the store has of a login that is at the issuer.
type begun struct {
	Next string    `json:"next"`
	At   time.Time `json:"at"`
}

func begunAt(next string, now time.Time) []byte {
	text, err := json.Marshal(begun{next, now})
	if err != nil {
		panic(err) // of the type, which has nothing that cannot be encoded
	}
	return text
}

// takeBegun takes a login that is at the issuer out of the store, by its cookie's secret: [ErrNotBegun] if there is none.
func (d *Desk) takeBegun(ctx context.Context, signOn string) (b begun, err error) {
	name := nameOf(signOn)
	if d.used.has(name) {
		return b, ErrNotBegun
	}
	value, err := d.kept.Take(ctx, kindSignOn, name)
	if err != nil {
		return b, away(err)
	}
	d.used.note(name)
	if value == nil || json.Unmarshal(value, &b) != nil {
		return b, ErrNotBegun
	}
	if age := d.deps.Now().Sub(b.At); age >= SignOnLife || age < -mostSkew {
		return b, ErrNotBegun
	}
	return b, nil
}

// Return ends a login at the issuer: signOn is the cookie's secret, state and code are what the issuer gave the browser. A
// state works once, and only in the browser that began. What is no answer to a sign-on of this browser is [ErrNotBegun], and spends
// nothing: another site can send a browser here. The others were counted when they began.
func (d *Desk) Return(ctx context.Context, v Visitor, signOn, state, code string) (secret, next string, err error) {
	if !d.CanSignOn() || !d.signer.gave(kindSignOn, signOn) || subtle.ConstantTimeCompare([]byte(state), []byte(derive(signOn, "state"))) == 0 {
		return "", "", ErrNotBegun
	}
	b, err := d.takeBegun(ctx, signOn)
	if err != nil {
		return "", "", err
	}
	identity, grant, err := d.deps.Issuer.Finish(ctx, code, derive(signOn, "nonce"), derive(signOn, "verifier"))
	if err != nil {
		return "", "", d.refused(ctx, v, ByIssuer, outside(err))
	}
	person, ok := d.personOf(identity)
	if !ok {
		return "", "", d.refused(ctx, v, ByIssuer, ErrNoRights)
	}
	secret, err = d.admit(ctx, v, person, func(secret string) Proof {
		return d.proofOf(identity, grant, secret)
	})
	return secret, b.Next, err
}

// personOf returns what the issuer's person may do.
func (d *Desk) personOf(id issuer.Identity) (Person, bool) {
	return d.deps.Groups.person(string(ByIssuer)+":"+nameFor(id), id.Groups, id.Email, d.deps.Teams)
}

// nameFor is the address of the issuer's person, or the subject. If it is shortened, or a subject that looks like an address, it has
// a part of its hash, so that no two people have one name.
func nameFor(id issuer.Identity) string {
	name := id.Email
	if name == "" {
		name = id.Subject
	}
	short := shorten(name)
	if short != name || id.Email == "" && strings.Contains(name, "@") {
		short += "#" + nameOf(name)[:12]
	}
	return short
}

func (d *Desk) proofOf(id issuer.Identity, grant issuer.Grant, secret string) Proof {
	return Proof{Way: ByIssuer, Subject: id.Subject, Email: id.Email, Groups: id.Groups, Checked: d.deps.Now(), Grant: sealGrant(secret, grant)}
}

func sealGrant(secret string, grant issuer.Grant) []byte {
	text, err := json.Marshal(grant)
	if err != nil {
		panic(err) // of the type, which has nothing that cannot be encoded
	}
	return seal(secret, text)
}

// outside is an issuer's error as one of this package, with the issuer's words for the log.
func outside(err error) error {
	if errors.Is(err, issuer.ErrAway) {
		return errors.Join(ErrAway, err)
	}
	return errors.Join(ErrWrong, err)
}
