package main

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// origin is the address of a page's site as browsers send it in the Origin header: scheme, host, and a port if it is not the
// scheme's own.
type origin string

var (
	// Desktop programs and extensions have schemes that are not a web page's.
	schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	// A host outside ASCII is written xn--…, as browsers send it.
	originHostForm = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$`)
)

// defaultPorts are left out by browsers.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// parseOrigin reads one element of a list. It refuses what a browser never sends, since it would never match.
func parseOrigin(text string) (origin, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	scheme, rest, found := strings.Cut(text, "://")
	if !found || !schemeForm.MatchString(scheme) || scheme == "file" { // a file's origin is null
		return "", errValue
	}
	host := rest
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		port := rest[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port || port == defaultPorts[scheme] {
			return "", errValue
		}
		host = rest[:i]
	}
	if !originHostForm.MatchString(host) && !isBracketed(host) {
		return "", errValue
	}
	return origin(text), nil
}

// isBracketed reports whether host is an IPv6 address in its shortest form.
func isBracketed(host string) bool {
	inside, opens := strings.CutPrefix(host, "[")
	inside, closes := strings.CutSuffix(inside, "]")
	address, err := netip.ParseAddr(inside)
	return opens && closes && err == nil && address.Is6() && !address.Is4In6() && address.Zone() == "" && address.String() == inside
}
