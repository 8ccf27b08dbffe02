package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// Host is a host from which pictures may be fetched: "store.example", "*.store.example" for every name below it,
// "store.example:8443", or an address such as "127.0.0.1:9000". Without a port any matches, with one only that port.
type Host string

// longestAddress is how many bytes the address of a picture may have. Signed ones have up to 2 KiB.
const longestAddress = 8 << 10

var errHost = errors.New("not a host")

// A pattern names a domain below a top-level one, so that no pattern opens all of .com.
var hostForm = regexp.MustCompile(`^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+[a-z0-9]([a-z0-9-]*[a-z0-9])?(:[1-9][0-9]{0,4})?$`)

// ParseHost reads a Host in upper or lower case. Its error does not quote the text.
func ParseHost(text string) (Host, error) {
	text = strings.ToLower(text)
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && address.Zone() == "" && text == hostOf(address) {
		return Host(text), nil
	}
	if pair, err := netip.ParseAddrPort(text); err == nil && pair.Addr().Zone() == "" && pair.Port() > 0 && text == pair.String() {
		return Host(text), nil
	}
	if len(text) > 260 || !hostForm.MatchString(text) {
		return "", errHost
	}
	return Host(text), nil
}

// hostOf writes an address as in a URL.
func hostOf(address netip.Addr) string {
	if address.Is6() {
		return "[" + address.String() + "]"
	}
	return address.String()
}

// matches reports whether the pattern covers the host of u.
func (p Host) matches(u *url.URL) bool {
	pattern, port := string(p), ""
	if at := strings.LastIndexByte(pattern, ':'); at >= 0 && !strings.HasSuffix(pattern, "]") {
		pattern, port = pattern[:at], pattern[at+1:]
	}
	if port != "" && port != cmp.Or(u.Port(), defaultPorts[u.Scheme]) {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":"+u.Port())
	if below, ok := strings.CutPrefix(pattern, "*"); ok {
		return len(host) > len(below) && strings.HasSuffix(host, below)
	}
	return host == pattern
}

// judge reads the address of a picture and judges it.
func (f *Fetcher) judge(address string) (*url.URL, error) {
	if len(address) > longestAddress {
		return nil, fmt.Errorf("%w: it is longer than 8 KiB", ErrAddress)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be read", ErrAddress)
	}
	return u, f.judgeURL(u)
}

// judgeURL judges scheme and host. The dialer judges the address that the host's name leads to.
func (f *Fetcher) judgeURL(u *url.URL) error {
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return fmt.Errorf("%w: its scheme is not https", ErrAddress)
	case u.User != nil || u.Opaque != "" || strings.ContainsFunc(u.Host, strange):
		return fmt.Errorf("%w: it has a user or not a plain host", ErrAddress)
	}
	for _, host := range f.hosts {
		if host.matches(u) {
			return nil
		}
	}
	return fmt.Errorf("%w: its host is not listed", ErrAddress)
}

// strange reports whether r occurs in no host's name, address or port. Letters outside ASCII would be rewritten before the
// connection, so that the name that is looked up is not the one that was judged.
func strange(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:[]", r)
}

// isLoopback reports whether host is an address of this machine. A name, localhost too, may lead anywhere.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
