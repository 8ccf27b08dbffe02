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
	ErrTooMany  = errors.New("too many attempts")                          // wrong, and too often at this address or for this account
	ErrOften    = errors.New("too many logins")                            // by this person, or begun at this address
	ErrCookies  = errors.New("too many cookies without a session")         // from this address
	ErrNoRights = errors.New("no team and no role has one of your groups") // the issuer knows the person
	ErrAway     = errors.New("logins cannot be checked at the moment")     // Redis or the issuer is away
	// ErrNotBegun is an [ErrWrong]: the issuer's answer belongs to no sign-on of this browser. It does not count as an attempt.
	ErrNotBegun = fmt.Errorf("%w: no sign-on of this browser is under way", ErrWrong)
)

// Visitor is the origin of a login.
type Visitor struct {
	Client string // the address
	Agent  string // the browser's User-Agent
	// Foreign reports that another site's page sent the browser here. Then a failure is not the visitor's fault, and does not count.
	Foreign bool
}

// away wraps an error of the store as [ErrAway].
func away(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// AttemptsWindow is the time in which logins are counted, from the first failed one.
const AttemptsWindow = 10 * time.Minute

// How many logins may fail in this time before further ones are refused: more than people mistype. A right secret is never refused.
const (
	attemptsOfAddress = 20
	attemptsOfAccount = 100
)

// How many logins of one person may succeed, and how many may begin at the issuer from one address, in the same time: more would evict
// other people's from a full store.
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

// attempts counts bounded events: first in this process, to spare the store, then in the store for all replicas. While the store is away,
// each replica counts by itself.
type attempts struct {
	shared Store
	now    func() time.Time
	here   Limiters
	bounds Bounds
	log    *slog.Logger
}

// network returns a name for a client's address; for IPv6 its /64, the network of one customer.
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
	n, err := a.shared.Count(context.WithoutCancel(ctx), name, AttemptsWindow) // an attempt counts even if its client leaves
	return err != nil || n <= most
}

// failed counts a login with a wrong secret, logs it and returns its error. Without an account only the address counts.
func (a *attempts) failed(ctx context.Context, v Visitor, way Way, account string) error {
	if !a.counts(ctx, network(v.Client), attemptsOfAddress) || account != "" && !a.counts(ctx, "account "+account, attemptsOfAccount) {
		a.bounds.Attempts()
		return ErrTooMany // not logged: an attacker could fill the log
	}
	return a.refused(ctx, v, way, ErrWrong)
}

// refused logs a refused login, and returns its error.
func (a *attempts) refused(ctx context.Context, v Visitor, way Way, err error) error {
	a.log.LogAttrs(ctx, slog.LevelWarn, "console login refused",
		slog.String("way", string(way)), slog.String("client", v.Client), slog.String("reason", err.Error()))
	return err
}

// cookie counts a cookie that belongs to no session, and returns its error.
func (a *attempts) cookie(v Visitor) error {
	if !a.here.Allows("cookie "+network(v.Client), a.now(), rate.Every(CookiesWindow/cookiesOfAddress), cookiesOfAddress) {
		a.bounds.Cookies()
		return ErrCookies
	}
	return ErrWrong
}
