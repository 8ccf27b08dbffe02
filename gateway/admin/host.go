package admin

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// knows reports whether a request's Host is a name of this listener. A page in an operator's browser can point a name of
// its own at the listener's address and would read the answers as its own; it can do so neither with an address, nor
// with localhost, nor without a Host, which every browser sends.
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
