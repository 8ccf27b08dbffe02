package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"code.dny.dev/ssrf"
)

// Guard has the settings for connections to addresses that others chose. The zero Guard connects to public addresses, directly.
type Guard struct {
	Networks []netip.Prefix // allowed beside public addresses; nil: none
	Resolver *net.Resolver  // nil: the system's
	Tunnel   *Tunnel        // the outbound proxy; nil: none, and the system's root certificates
}

// Guarded returns a transport for addresses that others chose: it connects only to public addresses and to those in the networks. It
// unpacks nothing, because a small answer could become a huge one.
func Guarded(g Guard) *http.Transport {
	guard := newGuard(g.Networks)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return g.dial(ctx, guard, network, address)
	}
	return &http.Transport{
		DialContext: dial, DialTLSContext: g.Tunnel.securely(dial),
		DisableCompression: true,

		MaxResponseHeaderBytes: 64 << 10,
	}
}

// dial connects to an address that the guard allows. A proxy would look names up itself and connect to what it finds, so it is asked for
// an address that was judged, never for a name.
func (g *Guard) dial(ctx context.Context, guard *ssrf.Guardian, network, address string) (net.Conn, error) {
	direct := &net.Dialer{Timeout: connectFor, Resolver: g.Resolver, Control: guard.Safe}
	host, port, err := net.SplitHostPort(address)
	if err != nil || g.Tunnel.leadsTo(&url.URL{Scheme: "https", Host: address}) == nil {
		return direct.DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	resolver := g.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	found, err := resolver.LookupNetIP(ctx, "ip", host)
	for _, at := range found {
		at = at.Unmap()
		to := net.JoinHostPort(at.String(), port)
		if err = judge(guard, at, to); err != nil {
			continue
		}
		if g.Tunnel.leadsTo(&url.URL{Scheme: "https", Host: to}) == nil { // the proxy's exceptions have networks, too
			return direct.DialContext(ctx, network, to)
		}
		var conn net.Conn
		if conn, err = g.Tunnel.dial(ctx, to); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// judge returns the guard's error for a connection to an address; to is the address with its port.
func judge(guard *ssrf.Guardian, at netip.Addr, to string) error {
	network := "tcp6"
	if at.Is4() {
		network = "tcp4"
	}
	return guard.Safe(network, to, nil)
}

// MayConnect reports whether the transport of [Guarded] connects to an address.
func MayConnect(address netip.Addr, networks []netip.Prefix) bool {
	address = address.Unmap()
	return judge(newGuard(networks), address, netip.AddrPortFrom(address, 443).String()) == nil
}

// IsGuarded reports whether an error of the transport of [Guarded] says that it does not connect to an address.
func IsGuarded(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) || errors.Is(err, ssrf.ErrProhibitedPort)
}

// azure is the platform service of Azure's machines: the one metadata address that is neither private nor link-local.
var azure = netip.MustParsePrefix("168.63.129.16/32")

// newGuard returns a guard that judges each address right before the connection. A name is resolved once, and the guard judges the address
// that is connected to, so a name that changes its address a moment later changes nothing. Public addresses pass: outside the special
// ranges of IANA's registries (private, loopback, link-local, shared, NAT64, IPv4 inside IPv6, and so on), and the given networks.
//
// The ranges are those of the library, which is generated from the registries; a list of our own would become outdated.
func newGuard(networks []netip.Prefix) *ssrf.Guardian {
	var v4, v6 []netip.Prefix
	for _, network := range networks {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azure), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
}
