package gateway

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientOf is the client's address without a port: the peer's, or if that is a trusted proxy, the last address in
// X-Forwarded-For that is not one. Entries before it may be forged. If an entry is not an address, the entry behind it is the
// last that is known.
func ClientOf(r *http.Request, trusted []netip.Prefix) string {
	client := hostOf(r.RemoteAddr)
	if len(trusted) == 0 || !trusts(trusted, client) {
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
			if client = address; !trusts(trusted, client) {
				return client
			}
		}
	}
	return client
}

// trusts reports whether an address is in a trusted network.
func trusts(trusted []netip.Prefix, client string) bool {
	address, err := netip.ParseAddr(client)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	for _, network := range trusted {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// hostOf removes the port from an address as package net writes it, and the brackets of IPv6.
func hostOf(address string) string {
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		address = address[:colon]
	}
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}

// addressOf reads an entry of X-Forwarded-For, which may have a port, and brackets around an IPv6 address. It returns the
// address in its canonical form.
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
		return text, true // it has one form only
	}
	return address.Unmap().WithZone("").String(), true // a zone is of the proxy's own links
}
