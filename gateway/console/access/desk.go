package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access/issuer"
)

// The reasons why somebody is not let in. None of them tells what exists.
var (
	ErrWrong    = errors.New("this does not log in")                       // wrong, expired, used or revoked
	ErrTooMany  = errors.New("too many attempts")                          // of this address or this account
	ErrNoRights = errors.New("no team and no role has one of your groups") // the issuer knows the person
	ErrAway     = errors.New("logins cannot be checked at the moment")     // Redis or the issuer is away
)

// Teams are the teams in force.
type Teams interface {
	// OfKey returns whose key was presented. It is ok only while the gateway would take the key.
	OfKey(presented string) (team, key string, ok bool)
	// Digest returns the SHA-256 of a team's key, ok as OfKey.
	Digest(team, key string) (digest [sha256.Size]byte, ok bool)
	// OfMembers returns the teams that have one of the groups or addresses among their members, by id, in order.
	OfMembers(names []string) []string
}

// Deps are what a desk needs.
type Deps struct {
	Now    func() time.Time
	Shared Store // sessions and attempts, of all replicas
	Own    Store // in memory: attempts while Shared is away
	Teams  Teams
	Groups Groups
	Issuer *issuer.Issuer                              // nil: there is no sign-on
	Token  func() (digest [sha256.Size]byte, set bool) // SHA-256 of the operator's token; nil: there is none
	Log    *slog.Logger                                // who logged in, and which logins failed
	// Ended writes into the audit that somebody has ended the session of another person. Nil: there is no audit.
	Ended func(ctx context.Context, by Person, client string, s *Session) error
}

// Desk lets people in, and says who they are. It is safe for concurrent use.
type Desk struct {
	deps     Deps
	sessions sessions
	attempts attempts
	link     link
}

// NewDesk returns a desk.
func NewDesk(deps Deps) *Desk {
	if deps.Token == nil {
		deps.Token = func() (digest [sha256.Size]byte, set bool) { return digest, false }
	}
	return &Desk{deps: deps, sessions: sessions{deps.Shared, deps.Now}, attempts: attempts{deps.Shared, deps.Own}}
}

// Visitor is where a login comes from.
type Visitor struct {
	Client string // the address
	Agent  string // the browser's User-Agent
}

// admit opens a session and returns its secret, for the browser's cookie.
func (d *Desk) admit(ctx context.Context, v Visitor, p Person, prove func(secret string) Proof) (string, error) {
	if !d.attempts.begins(ctx, "logins "+p.Name, loginsOfPerson) {
		return "", ErrTooMany
	}
	secret := newSecret()
	session := Session{Person: p, Client: v.Client, Agent: shorten(v.Agent), Proof: prove(secret)}
	if err := d.sessions.begin(ctx, session, secret); err != nil {
		return "", away(err)
	}
	d.deps.Log.LogAttrs(ctx, slog.LevelInfo, "console login", slog.String("who", p.Name), slog.String("client", v.Client))
	return secret, nil
}

// refuse counts a failed login, unless it could not be checked, and returns its error.
func (d *Desk) refuse(ctx context.Context, v Visitor, way Way, t attempt, err error) error {
	if !errors.Is(err, ErrAway) {
		d.attempts.failed(ctx, t)
	}
	return d.refused(ctx, v, way, err)
}

// refused notes a login that is refused, and returns its error.
func (d *Desk) refused(ctx context.Context, v Visitor, way Way, err error) error {
	d.deps.Log.LogAttrs(ctx, slog.LevelWarn, "console login refused",
		slog.String("way", string(way)), slog.String("client", v.Client), slog.String("reason", err.Error()))
	return err
}

// End ends a session by its secret.
func (d *Desk) End(ctx context.Context, secret string) error {
	return away(d.sessions.end(ctx, nameOf(secret)))
}

// Sessions returns the sessions that somebody may see, the newest first: an operator all, others their own.
func (d *Desk) Sessions(ctx context.Context, p Person) ([]Session, error) {
	all, err := d.sessions.all(ctx)
	if err != nil {
		return nil, away(err)
	}
	var seen []Session
	for _, session := range all {
		if p.Changes() || p.Name != "" && session.Person.Name == p.Name {
			seen = append(seen, session)
		}
	}
	return seen, nil
}

// Revoke ends a session that somebody may see, by its ID. ok is false if there is none. The session of another person gets an entry in
// the audit. It ends also if that cannot be written: nothing may keep an operator from taking somebody's access away.
func (d *Desk) Revoke(ctx context.Context, v Visitor, p Person, id string) (ok bool, err error) {
	seen, err := d.Sessions(ctx, p)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(seen, func(s Session) bool { return s.ID == id })
	if at < 0 {
		return false, nil
	}
	ctx = context.WithoutCancel(ctx) // a client that leaves must not keep the entry from being written
	if err := d.sessions.end(ctx, id); err != nil {
		return true, away(err)
	}
	session := &seen[at]
	d.deps.Log.LogAttrs(ctx, slog.LevelInfo, "console session revoked", slog.String("who", session.Person.Name), slog.String("by", p.Name))
	if session.Person.Name == p.Name || d.deps.Ended == nil {
		return true, nil
	}
	if err := d.deps.Ended(ctx, p, v.Client, session); err != nil {
		d.deps.Log.LogAttrs(ctx, slog.LevelError, "console session revoked without an entry in the audit", slog.String("error", err.Error()))
	}
	return true, nil
}

// away is an error of the store as [ErrAway].
func away(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// shorten keeps the visible beginning of what a client says of itself.
func shorten(text string) string {
	const most = 120
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}
