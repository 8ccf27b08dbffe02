package gateway

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientOf is the address of who asks, without its port: the peer's, or where that is a trusted proxy, the last one of
// X-Forwarded-For that is none. What stands before that anybody may have written. Where an entry is no address, what
// follows it is all that is known.
func (g *Gateway) clientOf(r *http.Request) string {
	client := hostOf(r.RemoteAddr)
	if len(g.config.TrustedProxies) == 0 || !g.trusts(client) {
		return client
	}
	lines := r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- { // several lines are one list
		for rest, more := lines[i], true; more; {
			var entry string
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, entry = rest[:comma], rest[comma+1:]
			} else {
				entry, more = rest, false
			}
			address, ok := addressOf(strings.Trim(entry, " \t"))
			if !ok {
				return client
			}
			if client = address; !g.trusts(client) {
				return client
			}
		}
	}
	return client
}

// trusts reports whether an address is a trusted proxy's.
func (g *Gateway) trusts(client string) bool {
	address, err := netip.ParseAddr(client)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	for _, network := range g.config.TrustedProxies {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// hostOf takes the port from an address as net has it, and the brackets that come with one.
func hostOf(address string) string {
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		address = address[:colon]
	}
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}

// addressOf reads an entry of X-Forwarded-For, which may have a port, and brackets around an address of IPv6. It is
// written in one way, however the proxy wrote it.
func addressOf(entry string) (string, bool) {
	text := entry
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	} else if strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1 {
		port, err := netip.ParseAddrPort(text)
		if err != nil {
			return "", false
		}
		if text = hostOf(text); port.Addr().Is4() {
			return text, true
		}
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return "", false
	}
	if address.Is4() {
		return text, true // it can be written in one way alone
	}
	return address.Unmap().WithZone("").String(), true // a zone is of the proxy's own links
}
