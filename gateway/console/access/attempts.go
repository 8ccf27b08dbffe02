package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"time"

	"golang.org/x/time/rate"
)

// The reasons why a login is refused. None of them reveals what exists.
var (
	ErrWrong    = errors.New("this does not log in")                       // wrong, expired, used or revoked
	ErrTooMany  = errors.New("too many attempts")                          // of this address or this account; this one was wrong, too
	ErrOften    = errors.New("too many logins")                            // by this person, or begun at this address
	ErrCookies  = errors.New("too many cookies without a session")         // from this address, including this one
	ErrNoRights = errors.New("no team and no role has one of your groups") // the issuer knows the person
	ErrAway     = errors.New("logins cannot be checked at the moment")     // Redis or the issuer is away
	// ErrNotBegun is an [ErrWrong]: the issuer's answer belongs to no sign-on of this browser. It did not count as an attempt.
	ErrNotBegun = fmt.Errorf("%w: no sign-on of this browser is under way", ErrWrong)
)

// Visitor is the origin of a login.
type Visitor struct {
	Client string // the address
	Agent  string // the browser's User-Agent
	// Foreign reports that another site's page led the browser here. A failure is not the visitor's fault then, and is not counted.
	Foreign bool
}

// away returns an error of the store as [ErrAway].
func away(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// AttemptsWindow begins with the first login that fails.
const AttemptsWindow = 10 * time.Minute

// How many logins may fail within it before further ones are refused: more than people mistype. A right secret is never refused.
const (
	attemptsOfAddress = 20
	attemptsOfAccount = 100
)

// How many logins may succeed for one person, and begin at the issuer from one address, within the same time: a full store evicts
// the oldest, which would be those of others.
const (
	loginsOfPerson   = 100
	signOnsOfAddress = 300
)

// CookiesWindow is the time in which one address may send cookiesOfAddress session cookies that belong to no session.
const CookiesWindow = time.Minute

const cookiesOfAddress = 20

// Bounds are called when a bound refuses a login. Nil: no call.
type Bounds struct {
	Attempts func() // of wrong tokens, keys and links, by address and account
	Cookies  func() // of cookies that belong to no session, by address
	Logins   func() // of one person
	SignOns  func() // that begin at one address
}

// attempts counts bounded events: here first, which spares the store, and then in the store for all replicas. While the store is
// away, each replica counts by itself.
type attempts struct {
	shared Store
	now    func() time.Time
	here   Limiters
	bounds Bounds
	log    *slog.Logger
}

// network returns a client's address as a name; for IPv6 the network of one customer.
func network(client string) string {
	if address, err := netip.ParseAddr(client); err == nil {
		bits := 64
		if address = address.Unmap().WithZone(""); address.Is4() {
			bits = 32
		}
		prefix, _ := address.Prefix(bits)
		client = prefix.String()
	}
	return "address " + client
}

var keyForm = regexp.MustCompile(`^slk_([a-z0-9]{12})_`)

// accountOf returns the account of a presented secret: the public part of a team's key, or the console's token.
func accountOf(secret string) string {
	if parts := keyForm.FindStringSubmatch(secret); parts != nil {
		return parts[1]
	}
	return "token"
}

// counts counts an event, and reports whether the bound holds within [AttemptsWindow].
func (a *attempts) counts(ctx context.Context, name string, most int) bool {
	if !a.here.Allows(name, a.now(), rate.Every(AttemptsWindow/time.Duration(most)), most) {
		return false
	}
	n, err := a.shared.Count(context.WithoutCancel(ctx), name, AttemptsWindow) // a client that leaves has failed, too
	return err != nil || n <= most
}

// failed counts a login with a wrong secret, notes it and returns its error. Without an account only the address counts.
func (a *attempts) failed(ctx context.Context, v Visitor, way Way, account string) error {
	if !a.counts(ctx, network(v.Client), attemptsOfAddress) || account != "" && !a.counts(ctx, "account "+account, attemptsOfAccount) {
		a.bounds.Attempts()
		return ErrTooMany // not logged: an attacker could fill the log
	}
	return a.refused(ctx, v, way, ErrWrong)
}

// refused notes a login that is refused, and returns its error.
func (a *attempts) refused(ctx context.Context, v Visitor, way Way, err error) error {
	a.log.LogAttrs(ctx, slog.LevelWarn, "console login refused",
		slog.String("way", string(way)), slog.String("client", v.Client), slog.String("reason", err.Error()))
	return err
}

// cookie counts a cookie that belongs to no session, and returns the error for it.
func (a *attempts) cookie(v Visitor) error {
	if !a.here.Allows("cookie "+network(v.Client), a.now(), rate.Every(CookiesWindow/cookiesOfAddress), cookiesOfAddress) {
		a.bounds.Cookies()
		return ErrCookies
	}
	return ErrWrong
}
