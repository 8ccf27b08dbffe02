package access

import (
	"context"
	"time"
)

// How long a session lasts.
const (
	Longest = 12 * time.Hour // since its login
	Idle    = time.Hour      // since its last request
)

// mostSkew bounds the difference between the clocks of two replicas. A session whose times are further in the future is invalid.
const mostSkew = time.Minute

// Session is a login that has not ended. Its name in the store is the hash of its secret, which is in the browser's cookie.
type Session struct {
	ID     string    `json:"id"`     // does not reveal the secret
	Person Person    `json:"person"` // with the rights at the login
	Began  time.Time `json:"began"`
	Client string    `json:"client"` // the address at the login
	Agent  string    `json:"agent"`  // the browser's User-Agent at the login, shortened
	Proof  Proof     `json:"proof"`
}

// Proof records how a session was opened, as far as needed to check that it is still valid.
type Proof struct {
	Way     Way       `json:"way"`
	Key     string    `json:"key,omitempty"`    // the id of a team's key
	Digest  string    `json:"digest,omitempty"` // of key or token, keyed with the session's secret
	Subject string    `json:"subject,omitempty"`
	Email   string    `json:"email,omitempty"`
	Groups  []string  `json:"groups,omitempty"`
	Checked time.Time `json:"checked,omitzero"` // when the issuer last confirmed the person
	Grant   []byte    `json:"grant,omitempty"`  // sealed with the session's secret
}

// Way is how a person logged in.
type Way string

// The ways.
const (
	ByToken  Way = "token"
	ByLink   Way = "link"
	ByKey    Way = "key"
	ByIssuer Way = "oidc"
)

// SessionID returns the ID of a secret's session, if that exists. A login never reuses a secret that the browser sent: an attacker may
// have planted it.
func SessionID(secret string) string { return nameOf(secret) }

// sessions are the open sessions, by ID.
type sessions struct {
	records[Session]
	// of operators who logged in with the token while the store was away; the next request after that moves each to the store
	local records[Session]
	now   func() time.Time
	over  names       // ended sessions, for which the store is not asked again
	owed  chan string // IDs of local sessions that ended while the store was away, which may have a copy if its reply to put was lost
}

// find returns the session of a secret; nil if it does not exist or has ended. renew keeps it for another Idle.
func (s *sessions) find(ctx context.Context, secret string, renew bool) (*Session, error) {
	name := nameOf(secret)
	if s.over.has(name) {
		return nil, nil
	}
	life := time.Duration(0)
	if renew {
		life = Idle
	}
	if session, _ := s.local.get(ctx, name, life); session != nil {
		if s.put(ctx, name, session, Idle) == nil {
			_, _ = s.local.take(ctx, name)
		}
		if !s.lasts(session) {
			return nil, s.end(ctx, name)
		}
		return session, nil
	}
	session, err := s.get(ctx, name, life)
	if err == nil {
		s.settle(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case session == nil:
		s.over.note(name)
		return nil, nil
	case s.inFuture(session):
		return nil, nil
	case !s.lasts(session):
		return nil, s.end(ctx, session.ID)
	}
	return session, nil
}

func (s *sessions) lasts(session *Session) bool { return s.now().Sub(session.Began) < Longest }

// inFuture reports whether a session's times are in the future: its rights would not be checked until then.
func (s *sessions) inFuture(session *Session) bool {
	latest := s.now().Add(mostSkew)
	return session.Began.After(latest) || session.Proof.Checked.After(latest)
}

// age returns the time since the issuer confirmed a session's person.
func (s *sessions) age(session *Session) time.Duration { return s.now().Sub(session.Proof.Checked) }

// end ends a session on all replicas, from their next request on. It may have ended already.
func (s *sessions) end(ctx context.Context, id string) error {
	local, _ := s.local.take(ctx, id)
	_, err := s.take(ctx, id)
	if err == nil || local != nil && s.owe(id) {
		s.over.note(id)
		return nil
	}
	return err
}

// owe queues the ID of a session for settle; false: the queue is full.
func (s *sessions) owe(id string) bool {
	select {
	case s.owed <- id:
		return true
	default:
		return false
	}
}

// settle removes one of the owed sessions from the store.
func (s *sessions) settle(ctx context.Context) {
	select {
	case id := <-s.owed:
		if _, err := s.take(ctx, id); err != nil {
			s.owe(id)
		}
	default:
	}
}

// SignOnLife is how long a sign-on at the issuer may take.
const SignOnLife = 10 * time.Minute

// begun is the store's value for a sign-on at the issuer.
type begun struct {
	Next string    `json:"next"`
	At   time.Time `json:"at"`
}

// signOns are the sign-ons at the issuer.
type signOns struct {
	records[begun]
	now  func() time.Time
	used names // sign-ons that have returned, for which the store is not asked again
}

// end removes a sign-on from the store. Its error for a missing one is [ErrNotBegun].
func (s *signOns) end(ctx context.Context, name string) (*begun, error) {
	if s.used.has(name) {
		return nil, ErrNotBegun
	}
	b, err := s.take(ctx, name)
	if err != nil {
		return nil, away(err)
	}
	s.used.note(name)
	if b == nil || s.now().Sub(b.At) >= SignOnLife || s.now().Sub(b.At) < -mostSkew {
		return nil, ErrNotBegun
	}
	return b, nil
}
