package wire

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ClientOf is the client's address without a port: the peer's, or if that is a trusted proxy, the last address in X-Forwarded-For
// that is not a trusted proxy's. Entries before it may be forged. If an entry is not an address, the entry after it is the
// client.
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
			address, ok := forwardedAddress(strings.Trim(entry, " \t"))
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

// IsTrusted reports whether a request comes from a trusted proxy, so that its X-Forwarded-For counts.
func IsTrusted(r *http.Request, trusted []netip.Prefix) bool {
	return trusts(trusted, hostOf(r.RemoteAddr))
}

// trusts reports whether an address is in a trusted network.
func trusts(trusted []netip.Prefix, client string) bool {
	address, err := netip.ParseAddr(client)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(trusted, func(network netip.Prefix) bool { return network.Contains(address) })
}

// hostOf removes the port from an address as package net writes it, and the brackets of IPv6.
func hostOf(address string) string {
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		address = address[:colon]
	}
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}

// forwardedAddress reads an entry of X-Forwarded-For, which may have a port, and brackets around an IPv6 address. It returns the
// address in its canonical form.
func forwardedAddress(entry string) (string, bool) {
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
	return address.Unmap().WithZone("").String(), true // a zone names a link of the proxy
}

// CORS lets pages of the operator's origins call the gateway from a browser. Keys come in the Authorization header and never
// in cookies, so no answer allows credentials. nil: pages of other origins may not read answers.
type CORS struct {
	exposed []string            // the headers that a page may read
	origins map[string][]string // each origin as the value of a header
}

// NewCORS lets pages of these origins, as browsers write them, read answers and the headers in exposed, a comma-separated list. It
// returns nil if there are no origins.
func NewCORS(origins []string, exposed string) *CORS {
	if len(origins) == 0 {
		return nil
	}
	c := &CORS{exposed: []string{exposed}, origins: make(map[string][]string, len(origins))}
	for _, origin := range origins {
		c.origins[origin] = []string{origin}
	}
	return c
}

// The values that never change are shared: no code writes to a header's values.
var (
	varyOrigin    = []string{"Origin"}
	varyPreflight = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}

	// Browsers keep a preflight for at most 2 h, whatever it says.
	preflightAge = []string{"7200"}
)

// Stamp sets the headers of every answer, also of refusals: without them a page only learns that its request failed.
func (c *CORS) Stamp(answer, request http.Header) {
	if answer["Vary"] == nil {
		answer["Vary"] = varyOrigin
	}
	if origin := c.origin(request); origin != nil {
		answer["Access-Control-Allow-Origin"], answer["Access-Control-Expose-Headers"] = origin, c.exposed
	}
}

// origin is the request's origin if it is one of the operator's, else nil.
func (c *CORS) origin(request http.Header) []string {
	if values := request["Origin"]; len(values) == 1 {
		return c.origins[values[0]]
	}
	return nil
}

// Method returns the method to route by. A preflight, which is an OPTIONS request of a listed origin, is routed by the method that it
// asks for, and every other request by its own.
func (c *CORS) Method(r *http.Request) (method string, preflight bool) {
	if r.Method != http.MethodOptions || c.origin(r.Header) == nil {
		return r.Method, false
	}
	asked := r.Header["Access-Control-Request-Method"]
	if len(asked) != 1 {
		return r.Method, false
	}
	return asked[0], true
}

// Preflight sets the headers of the answer to a preflight: it allows the route's methods, and every header that the page wants to send,
// because libraries add their own. A preflight has no key.
func (c *CORS) Preflight(answer, request http.Header, methods string) {
	answer["Vary"], answer["Access-Control-Max-Age"] = varyPreflight, preflightAge
	answer["Access-Control-Allow-Methods"] = []string{methods}
	if asked := request["Access-Control-Request-Headers"]; len(asked) > 0 {
		answer["Access-Control-Allow-Headers"] = asked
	}
}

// longestWait bounds the wait that a client may ask for.
const longestWait = 60 * time.Second

// PreferredWait reads how long a client wants to wait, "Prefer: wait=10" in whole seconds; more than 60 count as 60. ok is false without a
// preference, or with a malformed one.
func PreferredWait(h http.Header) (wait time.Duration, ok bool) {
	for _, line := range h["Prefer"] {
		for preference := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(preference, "=")
			value, _, _ = strings.Cut(value, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return 0, false
			}
			return min(time.Duration(seconds)*time.Second, longestWait), true
		}
	}
	return 0, false
}

// ServerTiming is the value of Server-Timing: how much of the wait was Sluice's, in ms with one decimal, and how long the request waited
// for its turn. A poll that shared the query of another may have waited for less time than the query took; its own part is then 0.
func ServerTiming(own, queued time.Duration) string {
	tenths := int64((max(own, 0) + 50*time.Microsecond) / (100 * time.Microsecond))
	buf := strconv.AppendInt(append(make([]byte, 0, 48), "sluice;dur="...), tenths/10, 10)
	buf = append(buf, '.', byte('0'+tenths%10))
	if queued > 0 {
		buf = strconv.AppendInt(append(buf, ", queue;dur="...), queued.Milliseconds(), 10)
	}
	return string(buf)
}

// maxBearer is the length of the longest key or token that is checked, in bytes.
const maxBearer = 8 << 10

// Bearer returns the presented key. It is "" unless there is exactly one, which all parsers of the header read alike. The scheme
// may be in any case, as real clients send it.
func Bearer(values []string) string {
	if len(values) != 1 {
		return ""
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || len(key) > maxBearer {
		return ""
	}
	for _, separator := range []byte(" \t,") {
		if strings.IndexByte(key, separator) >= 0 {
			return ""
		}
	}
	return key
}

// SchemeOf is the scheme of a request's address.
func SchemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}
