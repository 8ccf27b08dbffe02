// Package access authenticates the console's users and decides what they may do: tokens, keys, one-time links, sign-on with an issuer,
// sessions, and how often a login may fail. Pages, cookies and the listener are in gateway/console.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"slices"
	"time"

	"sluice/gateway/oidc"
)

// Deps are the dependencies of a Control.
type Deps struct {
	Now    func() time.Time
	Shared Store // sessions and attempts of all replicas
	Teams  Teams
	Groups Groups
	Issuer *oidc.Client                                // nil: no sign-on
	Token  func() (digest [sha256.Size]byte, set bool) // SHA-256 of the operator's token; nil: no token
	// Secret returns a secret of the configuration that all replicas share. Sessions are signed with a key derived from it, and end when
	// it changes. Nil: a random one, if only this process uses Shared.
	Secret func() []byte
	Bounds Bounds
	Log    *slog.Logger // who logged in, and which logins failed
	// Ended writes into the audit that a person has ended another's session. Nil: no audit.
	Ended func(ctx context.Context, by Person, client string, s *Session) error
}

// Control authenticates people. It is safe for concurrent use.
type Control struct {
	deps     Deps
	signer   signer
	sessions sessions
	signOns  signOns
	attempts attempts
	link     link
}

// New returns the control of one replica.
func New(deps Deps) *Control {
	if deps.Token == nil {
		deps.Token = func() (digest [sha256.Size]byte, set bool) { return digest, false }
	}
	if deps.Secret == nil {
		random := []byte(rand.Text())
		deps.Secret = func() []byte { return random }
	}
	for _, reached := range []*func(){&deps.Bounds.Attempts, &deps.Bounds.Cookies, &deps.Bounds.Logins, &deps.Bounds.SignOns} {
		if *reached == nil {
			*reached = func() {}
		}
	}
	s := signer{deps.Secret}
	return &Control{
		deps: deps, signer: s,
		sessions: sessions{
			records: records[Session]{deps.Shared, s, kindSession}, local: records[Session]{NewMemory(deps.Now), s, kindSession},
			now: deps.Now, owed: make(chan string, loginsOfPerson),
		},
		signOns:  signOns{records: records[begun]{deps.Shared, s, kindSignOn}, now: deps.Now},
		attempts: attempts{shared: deps.Shared, now: deps.Now, bounds: deps.Bounds, log: deps.Log},
	}
}

// admit opens a session and returns its secret, for the browser's cookie.
func (c *Control) admit(ctx context.Context, v Visitor, p Person, prove func(secret string) Proof) (string, error) {
	if !c.attempts.counts(ctx, "logins "+p.Name, loginsOfPerson) {
		c.deps.Bounds.Logins()
		return "", ErrOften
	}
	secret := c.signer.newSecret(kindSession)
	session := &Session{ID: nameOf(secret), Person: p, Began: c.deps.Now(), Client: v.Client, Agent: shorten(v.Agent), Proof: prove(secret)}
	err := c.sessions.put(ctx, session.ID, session, Idle)
	if err != nil && session.Proof.Way == ByToken { // an operator must get in also while the store is away
		err = c.sessions.local.put(ctx, session.ID, session, Idle)
	}
	if err != nil {
		return "", away(err)
	}
	c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "console login", slog.String("who", p.Name), slog.String("client", v.Client))
	return secret, nil
}

// End ends a session by its secret, if it exists.
func (c *Control) End(ctx context.Context, secret string) error {
	if name := nameOf(secret); c.signer.gave(kindSession, secret) && !c.sessions.over.has(name) {
		return away(c.sessions.end(ctx, name))
	}
	return nil
}

// Sessions returns the sessions that a person may see, newest first: all for an operator, for others their own.
func (c *Control) Sessions(ctx context.Context, p Person) ([]*Session, error) {
	seen, err := c.sessions.list(ctx)
	return slices.DeleteFunc(seen, func(s *Session) bool {
		mine := p.Changes() || p.Name != "" && s.Person.Name == p.Name
		return !mine || !c.sessions.lasts(s) || c.sessions.inFuture(s)
	}), away(err)
}

// Revoke ends a session that the person may see, by its ID; ok is false if it does not exist. The end of another person's session is
// audited. The session ends even if the audit cannot be written: nothing may prevent an operator from revoking access.
func (c *Control) Revoke(ctx context.Context, v Visitor, p Person, id string) (ok bool, err error) {
	seen, err := c.Sessions(ctx, p)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(seen, func(s *Session) bool { return s.ID == id })
	if at < 0 {
		return false, nil
	}
	ctx = context.WithoutCancel(ctx) // the entry must be written even if the client leaves
	if err := c.sessions.end(ctx, id); err != nil {
		return true, away(err)
	}
	session := seen[at]
	c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "console session revoked", slog.String("who", session.Person.Name), slog.String("by", p.Name))
	if session.Person.Name == p.Name || c.deps.Ended == nil {
		return true, nil
	}
	if err := c.deps.Ended(ctx, p, v.Client, session); err != nil {
		c.deps.Log.LogAttrs(ctx, slog.LevelError, "console session revoked without an entry in the audit", slog.String("error", err.Error()))
	}
	return true, nil
}
