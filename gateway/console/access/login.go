package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"sync"
	"time"
)

// LinkLife is how long a one-time link works.
const LinkLife = 10 * time.Minute

// mostSecret bounds a presented secret, in bytes.
const mostSecret = 8 << 10

// Login opens a session for the operator's token or a team's key. It checks the secret before it counts attempts, by a hash and without
// the store: attempts of others must never keep out a right secret. A secret is too long to guess.
func (c *Control) Login(ctx context.Context, v Visitor, presented string) (secret string, err error) {
	if len(presented) > mostSecret {
		presented = ""
	}
	if digest, ok := c.isToken(presented); ok {
		return c.admit(ctx, v, operatorOf(ByToken), func(secret string) Proof {
			return Proof{Way: ByToken, Digest: derive(secret, "token", digest[:]...)}
		})
	}
	team, key, ok := c.deps.Teams.OfKey(presented)
	if !ok {
		return "", c.attempts.failed(ctx, v, ByKey, accountOf(presented))
	}
	digest := sha256.Sum256([]byte(presented))
	return c.admit(ctx, v, holderOf(team, key), func(secret string) Proof {
		return Proof{Way: ByKey, Key: key, Digest: derive(secret, "key", digest[:]...)}
	})
}

// Bearer returns the operator for the token that a program sends. It opens no session. The token is checked first, as in [Control.Login].
func (c *Control) Bearer(ctx context.Context, v Visitor, presented string) (Person, error) {
	if _, ok := c.isToken(presented); !ok {
		return Person{}, c.attempts.failed(ctx, v, ByToken, "")
	}
	return operatorOf(ByToken), nil
}

// isToken compares a secret with the operator's token in constant time.
func (c *Control) isToken(presented string) (digest [sha256.Size]byte, ok bool) {
	digest, set := c.deps.Token()
	got := sha256.Sum256([]byte(presented))
	return digest, subtle.ConstantTimeCompare(got[:], digest[:]) == 1 && set
}

func operatorOf(way Way) Person { return Person{Name: string(way), Role: Operator} }

func holderOf(team, key string) Person {
	return Person{Name: "key:" + key, Role: Member, Teams: []string{team}}
}

// link is the one-time link's code, only in this process.
type link struct {
	mu   sync.Mutex
	sum  [sha256.Size]byte
	ends time.Time // zero: no link
}

// NewLink returns the code of a new one-time link, which replaces the previous one. Show it only to the operator.
func (c *Control) NewLink() (code string) {
	code = newSecret()
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.sum, c.link.ends = sha256.Sum256([]byte(code)), c.deps.Now().Add(LinkLife)
	return code
}

// take uses up the link if the code matches. It reports whether it does, and when the link would have expired.
func (l *link) take(code string, now time.Time) (ends time.Time, ok bool) {
	sum := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.ends) || subtle.ConstantTimeCompare(sum[:], l.sum[:]) == 0 {
		return ends, false
	}
	ends, l.ends = l.ends, time.Time{}
	return ends, true
}

// giveBack makes a taken code valid again, unless there is a newer link.
func (l *link) giveBack(code string, ends time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sum == sha256.Sum256([]byte(code)) {
		l.ends = ends
	}
}

// ByCode opens an operator's session for the code of a one-time link. The code is checked first, as in [Control.Login].
func (c *Control) ByCode(ctx context.Context, v Visitor, code string) (secret string, err error) {
	ends, ok := c.link.take(code, c.deps.Now())
	switch {
	case !ok && v.Foreign:
		return "", ErrWrong
	case !ok:
		return "", c.attempts.failed(ctx, v, ByLink, "link")
	}
	secret, err = c.admit(ctx, v, operatorOf(ByLink), func(string) Proof { return Proof{Way: ByLink} })
	if errors.Is(err, ErrAway) {
		c.link.giveBack(code, ends)
	}
	return secret, err
}
