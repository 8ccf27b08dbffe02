package access

import (
	"context"
	"net/netip"
	"regexp"
	"time"
)

// AttemptsWindow begins with the first login that fails.
const AttemptsWindow = 10 * time.Minute

// How many logins may fail within it: fewer than guessing needs, more than people mistype.
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

// attempts counts failed logins. While the shared store is away, each replica counts by itself.
type attempts struct{ shared, own Store }

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

// allows reports whether this may be tried from an address. It is for what many may try at once, and guesses do not find: programs'
// tokens, and answers of the issuer.
func (a attempts) allows(ctx context.Context, t attempt) bool {
	return a.count(ctx, t.address, 0) < attemptsOfAddress
}

// takes counts an attempt as failed before it is judged, so that many at once are no more than one after the other, and reports whether
// it may be tried. What did not fail is given back.
func (a attempts) takes(ctx context.Context, t attempt) bool {
	if a.count(ctx, t.address, 1) > attemptsOfAddress {
		a.count(ctx, t.address, -1)
		return false
	}
	if a.count(ctx, t.account, 1) > attemptsOfAccount {
		a.givesBack(ctx, t)
		return false
	}
	return true
}

func (a attempts) givesBack(ctx context.Context, t attempt) {
	a.count(ctx, t.address, -1)
	a.count(ctx, t.account, -1)
}

// failed counts a failure of what allows allowed.
func (a attempts) failed(ctx context.Context, t attempt) {
	a.count(ctx, t.address, 1)
}

// begins counts something that takes a place in the store, and reports whether there were no more than most.
func (a attempts) begins(ctx context.Context, name string, most int) bool {
	return a.count(ctx, name, 1) <= most
}

// count counts for clients that leave, too: a step in one store must not be taken back in the other.
func (a attempts) count(ctx context.Context, name string, step int) int {
	ctx = context.WithoutCancel(ctx)
	n, err := a.shared.Count(ctx, name, step, AttemptsWindow)
	if err != nil {
		n, _ = a.own.Count(ctx, name, step, AttemptsWindow) // in memory: it does not fail
	}
	return n
}
