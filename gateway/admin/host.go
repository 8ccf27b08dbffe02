package admin

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// knows reports whether a request's Host is allowed. A web page could point its domain at the listener's address, and
// the operator's browser would let it read the answers (DNS rebinding). It cannot do that with an address, with
// localhost or without a Host, which every browser sends.
func (d Deps) knows(host string) bool {
	name := host
	if alone, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = alone
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "" || name == "localhost" {
		return true
	}
	return slices.Contains(d.Hosts, name)
}
