package access

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sluice/gateway/console/access/issuer"
)

// The issuer is asked again about a person who uses a session. Between the two a failure to ask changes nothing.
const (
	checkFrom = 10 * time.Minute // since it last vouched
	checkBy   = 15 * time.Minute // then the session is not served before it has
)

// One request of all replicas asks, because issuers take a refresh token only once; the others wait.
const (
	checkClaim = 10 * time.Second // for which it may ask; longer than the issuer's client is patient
	checkWait  = 3 * time.Second
	checkPause = 50 * time.Millisecond
	checkMost  = checkClaim - time.Second // for all that one request asks
)

// Know returns who holds the session with that secret: [ErrWrong] or [ErrCookies] if it has ended, [ErrAway] if that cannot be checked. A
// session ends when what the person may do changes. renew says that the person is there: without it the session grows idle.
func (d *Desk) Know(ctx context.Context, v Visitor, secret string, renew bool) (Person, error) {
	if secret == "" {
		return Person{}, ErrWrong
	}
	if !d.signer.gave(kindSession, secret) {
		return Person{}, d.noSession(v)
	}
	session, ok, err := d.sessions.find(ctx, secret, renew)
	switch {
	case err != nil:
		return Person{}, away(err)
	case !ok:
		return Person{}, d.noSession(v)
	case !d.holds(session, secret):
		return Person{}, d.ended(ctx, session)
	case session.Proof.Way == ByIssuer && d.age(session) >= checkFrom:
		err = d.recheck(ctx, session, secret)
	}
	if err != nil {
		return Person{}, err
	}
	return session.Person, nil
}

// noSession counts a cookie that belongs to no session and returns the error for it.
func (d *Desk) noSession(v Visitor) error {
	if !d.attempts.cookie(attemptOf(v.Client, "")) {
		d.deps.Bounds.Cookies()
		return ErrCookies
	}
	return ErrWrong
}

// holds reports whether a session's person still may do the same.
func (d *Desk) holds(s Session, secret string) bool {
	var now Person
	var ok bool
	switch p := s.Proof; p.Way {
	case ByToken:
		digest, set := d.deps.Token()
		now, ok = operatorOf(ByToken), set && same(p.Digest, derive(secret, "token", digest[:]...))
	case ByLink:
		now, ok = operatorOf(ByLink), true
	case ByKey:
		for _, team := range s.Person.Teams {
			digest, works := d.deps.Teams.Digest(team, p.Key)
			now, ok = holderOf(team, p.Key), works && same(p.Digest, derive(secret, "key", digest[:]...))
		}
	case ByIssuer:
		now, ok = d.personOf(p.identity())
		ok = ok && d.CanSignOn()
	}
	return ok && now.Name == s.Person.Name && now.Role == s.Person.Role && slices.Equal(now.Teams, s.Person.Teams)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (p Proof) identity() issuer.Identity {
	return issuer.Identity{Subject: p.Subject, Email: p.Email, Groups: p.Groups}
}

func (d *Desk) age(s Session) time.Duration { return d.deps.Now().Sub(s.Proof.Checked) }

// ended ends a session and returns the error for it.
func (d *Desk) ended(ctx context.Context, s Session) error {
	d.deps.Log.LogAttrs(ctx, slog.LevelInfo, "console session ended", slog.String("who", s.Person.Name), slog.String("reason", "what the person may do has changed"))
	if err := d.sessions.end(ctx, s.ID); err != nil {
		return away(err)
	}
	return ErrWrong
}

// recheck has the issuer asked about the session's person, by this request or another.
func (d *Desk) recheck(ctx context.Context, s Session, secret string) error {
	begun := d.deps.Now()
	for {
		asking, err := d.deps.Shared.Count(ctx, "check "+s.ID, 1, checkClaim)
		switch {
		case err == nil && asking == 1:
			return d.check(ctx, s, secret)
		case d.age(s) < checkBy:
			return nil
		case err != nil:
			return away(err)
		case d.deps.Now().Sub(begun) >= checkWait:
			return ErrAway
		}
		select {
		case <-ctx.Done():
			return ErrAway
		case <-time.After(checkPause):
		}
		var ok bool
		if s, ok, err = d.sessions.find(ctx, secret, false); err != nil {
			return away(err)
		} else if !ok {
			return ErrWrong
		} else if d.age(s) < checkFrom {
			return nil
		}
	}
}

// check asks the issuer. The session ends if the issuer no longer vouches for the person, or names other rights.
func (d *Desk) check(ctx context.Context, s Session, secret string) error {
	ctx = context.WithoutCancel(ctx) // a refresh token that was used and not stored would end the session
	var grant issuer.Grant
	text, ok := open(secret, s.Proof.Grant)
	if !ok || json.Unmarshal(text, &grant) != nil {
		return d.ended(ctx, s)
	}
	asking, cancel := context.WithTimeout(ctx, checkMost)
	defer cancel()
	identity, given, err := d.deps.Issuer.Check(asking, s.Proof.identity(), grant)
	switch {
	case errors.Is(err, issuer.ErrAway):
		d.deps.Log.LogAttrs(ctx, slog.LevelWarn, "console sign-on", slog.String("who", s.Person.Name), slog.String("error", err.Error()))
		return d.unanswered(ctx, s, secret, given)
	case err != nil:
		return d.ended(ctx, s)
	}
	s.Proof = d.proofOf(identity, given, secret)
	if !d.holds(s, secret) {
		return d.ended(ctx, s)
	}
	return d.keep(ctx, s)
}

// unanswered keeps a session whose issuer failed to answer, as long as it may last so. The issuer may have taken the old refresh token
// before, so the new one is stored.
func (d *Desk) unanswered(ctx context.Context, s Session, secret string, grant issuer.Grant) error {
	s.Proof.Grant = sealGrant(secret, grant)
	if err := d.keep(ctx, s); err != nil {
		return err
	}
	if d.age(s) < checkBy {
		return nil
	}
	return ErrAway
}

// keep stores what the issuer said of a session.
func (d *Desk) keep(ctx context.Context, s Session) error {
	ok, err := d.sessions.keep(ctx, s)
	if err == nil && !ok {
		return ErrWrong // it was ended meanwhile
	}
	return away(err)
}
