package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"code.dny.dev/ssrf"
)

// Guarded returns a transport for addresses that others chose: it connects to public addresses alone, and to those in the networks. It
// takes no proxy, which would connect to addresses that it does not see, and unpacks nothing, because a small answer could become a huge
// one. A nil resolver or nil roots are the system's.
func Guarded(networks []netip.Prefix, resolver *net.Resolver, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: connectFor, Resolver: resolver, Control: newGuard(networks).Safe}
	return &http.Transport{
		DialContext:        dialer.DialContext,
		TLSClientConfig:    &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		DisableCompression: true,

		MaxResponseHeaderBytes: 64 << 10,
	}
}

// MayConnect reports whether the transport of [Guarded] connects to an address.
func MayConnect(address netip.Addr, networks []netip.Prefix) bool {
	address, network := address.Unmap(), "tcp6"
	if address.Is4() {
		network = "tcp4"
	}
	return newGuard(networks).Safe(network, netip.AddrPortFrom(address, 443).String(), nil) == nil
}

// IsGuarded reports whether an error of the transport of [Guarded] says that it does not connect to an address.
func IsGuarded(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) || errors.Is(err, ssrf.ErrProhibitedPort)
}

// azure is the platform service of Azure's machines: the one metadata address that is neither private nor link-local.
var azure = netip.MustParsePrefix("168.63.129.16/32")

// newGuard judges each address that is connected to, right before the connection. A name is resolved once, and the guard sees
// that very address; a name that leads elsewhere a moment later changes nothing. Public addresses pass: outside the special
// ranges of IANA's registries (private, loopback, link-local, shared, NAT64, IPv4 inside IPv6, and so on), and the given networks.
//
// The ranges are the library's, which is made from the registries; ours would age.
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
