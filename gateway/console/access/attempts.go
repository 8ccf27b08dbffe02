package access

import (
	"context"
	"net/netip"
	"regexp"
	"time"
)

// AttemptsWindow begins with the first login that fails.
const AttemptsWindow = 10 * time.Minute

// How many logins may fail within it before they are refused as too many: more than people mistype. A right secret is never refused for
// them.
const (
	attemptsOfAddress = 20
	attemptsOfAccount = 100
)

// How many logins may succeed for one person, and begin at the issuer from one address, within the same time: the store drops the oldest when
// it has too many, which would be others'.
const (
	loginsOfPerson   = 100
	signOnsOfAddress = 300
)

// CookiesWindow is the time in which one address may send cookiesOfAddress session cookies that belong to no session.
const CookiesWindow = time.Minute

const cookiesOfAddress = 20

// attempts counts what may happen only so often: here first, which spares the store, and then in the store for all replicas. While the
// store is away, each replica counts by itself.
type attempts struct {
	shared Store
	now    func() time.Time
	here   paces
}

// attempt is a login that may fail.
type attempt struct{ address, account string }

// attemptOf names the address, of IPv6 the network of one customer, and the account. Without an account only the address counts.
func attemptOf(client, account string) attempt {
	network := client
	if address, err := netip.ParseAddr(client); err == nil {
		bits := 64
		if address = address.Unmap().WithZone(""); address.Is4() {
			bits = 32
		}
		prefix, _ := address.Prefix(bits)
		network = prefix.String()
	}
	if account != "" {
		account = "account " + account
	}
	return attempt{"address " + network, account}
}

var keyForm = regexp.MustCompile(`^slk_([a-z0-9]{12})_`)

// accountOf is the account that a presented secret is for: the public part of a team's key, or the console's token.
func accountOf(secret string) string {
	if parts := keyForm.FindStringSubmatch(secret); parts != nil {
		return parts[1]
	}
	return "token"
}

// fails counts an attempt that failed, and reports whether its address and its account had no more than they may.
func (a *attempts) fails(ctx context.Context, t attempt) bool {
	return a.counts(ctx, t.address, attemptsOfAddress) && (t.account == "" || a.counts(ctx, t.account, attemptsOfAccount))
}

// counts counts something, and reports whether there were no more than most within [AttemptsWindow].
func (a *attempts) counts(ctx context.Context, name string, most int) bool {
	if !a.here.allows(name, a.now(), most, AttemptsWindow) {
		return false
	}
	n, err := a.shared.Count(context.WithoutCancel(ctx), name, 1, AttemptsWindow) // a client that leaves has failed, too
	return err != nil || n <= most
}

// cookie counts a session cookie of an address that belongs to no session, and reports whether there were no more than may be.
func (a *attempts) cookie(t attempt) bool {
	return a.here.allows("cookie "+t.address, a.now(), cookiesOfAddress, CookiesWindow)
}
