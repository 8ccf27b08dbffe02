package access

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sluice/gateway/oidc"
)

// The issuer checks the person of a used session again. Between the two times a failed check changes nothing.
const (
	checkFrom = 10 * time.Minute // since the last successful check
	checkBy   = 15 * time.Minute // from then on the session's requests wait for the check
)

// Only one request of all replicas asks, because issuers accept a refresh token only once; the others wait.
const (
	checkClaim = 10 * time.Second // how long it may ask; longer than the issuer client's timeout
	checkWait  = 3 * time.Second
	checkPause = 50 * time.Millisecond
	checkMost  = checkClaim - time.Second // for all calls of one check
)

// Know returns the person of the session with this secret. Its error is [ErrWrong] or [ErrCookies] if the session has ended, [ErrAway] if
// that cannot be checked. A session ends when the person's rights change. renew means that the person is active: without it the session
// becomes idle.
func (c *Control) Know(ctx context.Context, v Visitor, secret string, renew bool) (Person, error) {
	if secret == "" {
		return Person{}, ErrWrong
	}
	if !c.signer.gave(kindSession, secret) {
		return Person{}, c.attempts.cookie(v)
	}
	session, err := c.sessions.find(ctx, secret, renew)
	switch {
	case err != nil:
		return Person{}, away(err)
	case session == nil:
		return Person{}, c.attempts.cookie(v)
	case !c.holds(session, secret):
		return Person{}, c.ended(ctx, session)
	case session.Proof.Way == ByIssuer && c.sessions.age(session) >= checkFrom:
		err = c.recheck(ctx, session, secret)
	}
	if err != nil {
		return Person{}, err
	}
	return session.Person, nil
}

// holds reports whether a session's person still has the same rights.
func (c *Control) holds(s *Session, secret string) bool {
	var now Person
	var ok bool
	switch p := s.Proof; p.Way {
	case ByToken:
		digest, set := c.deps.Token()
		now, ok = operatorOf(ByToken), set && same(p.Digest, derive(secret, "token", digest[:]...))
	case ByLink:
		now, ok = operatorOf(ByLink), true
	case ByKey:
		for _, team := range s.Person.Teams {
			digest, works := c.deps.Teams.Digest(team, p.Key)
			now, ok = holderOf(team, p.Key), works && same(p.Digest, derive(secret, "key", digest[:]...))
		}
	case ByIssuer:
		now, ok = c.personOf(p.identity())
		ok = ok && c.CanSignOn()
	}
	return ok && now.Name == s.Person.Name && now.Role == s.Person.Role && slices.Equal(now.Teams, s.Person.Teams)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (p Proof) identity() oidc.Identity {
	return oidc.Identity{Subject: p.Subject, Email: p.Email, Groups: p.Groups}
}

// ended ends a session because the person's rights have changed, and returns its error.
func (c *Control) ended(ctx context.Context, s *Session) error {
	c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "console session ended", slog.String("who", s.Person.Name),
		slog.String("reason", "what the person may do has changed"))
	if err := c.sessions.end(ctx, s.ID); err != nil {
		return away(err)
	}
	return ErrWrong
}

// recheck asks the issuer about the session's person, or waits for another request that does.
func (c *Control) recheck(ctx context.Context, s *Session, secret string) error {
	begun := c.deps.Now()
	for {
		asking, err := c.deps.Shared.Count(ctx, "check "+s.ID, checkClaim)
		switch {
		case err == nil && asking == 1:
			return c.check(ctx, s, secret)
		case c.sessions.age(s) < checkBy:
			return nil
		case err != nil:
			return away(err)
		case c.deps.Now().Sub(begun) >= checkWait:
			return ErrAway
		}
		select {
		case <-ctx.Done():
			return ErrAway
		case <-time.After(checkPause):
		}
		if s, err = c.sessions.find(ctx, secret, false); err != nil {
			return away(err)
		} else if s == nil {
			return ErrWrong
		} else if c.sessions.age(s) < checkFrom {
			return nil
		}
	}
}

// check asks the issuer. The session ends if the issuer no longer confirms the person, or grants other rights. While the issuer is down,
// the session lasts until checkBy.
func (c *Control) check(ctx context.Context, s *Session, secret string) error {
	ctx = context.WithoutCancel(ctx) // a refresh token that was used and not stored would end the session
	var grant oidc.Grant
	text, ok := open(secret, s.Proof.Grant)
	if !ok || json.Unmarshal(text, &grant) != nil {
		return c.ended(ctx, s)
	}
	asking, cancel := context.WithTimeout(ctx, checkMost)
	defer cancel()
	identity, given, err := c.deps.Issuer.Check(asking, s.Proof.identity(), grant)
	unanswered := errors.Is(err, oidc.ErrAway)
	switch {
	case unanswered: // a part may have succeeded and replaced the refresh token, so the new one is stored
		c.deps.Log.LogAttrs(ctx, slog.LevelWarn, "console sign-on", slog.String("who", s.Person.Name), slog.String("error", err.Error()))
		s.Proof.Grant = sealGrant(secret, given)
	case err != nil:
		return c.ended(ctx, s)
	default:
		s.Proof = proofOf(identity, given, secret, c.deps.Now())
		if !c.holds(s, secret) {
			return c.ended(ctx, s)
		}
	}
	kept, err := c.sessions.swap(ctx, s.ID, s)
	switch {
	case err != nil:
		return away(err)
	case !kept:
		return ErrWrong // the session was ended meanwhile
	case unanswered && c.sessions.age(s) >= checkBy:
		return ErrAway
	}
	return nil
}
