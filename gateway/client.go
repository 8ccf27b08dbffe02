package gateway

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"sluice/gateway/wire"
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

const (
	// A client must send slowRate bytes a second, measured over the whole body, after the first slowStart, or its request
	// ends with 408: a body that trickles in holds memory and a connection.
	slowStart = wire.SlowStart
	slowRate  = 64 << 10

	// After an answer, the rest of the request's body is read and dropped up to these bounds, so that a client that is still
	// sending can read its answer, and a connection whose body came whole can be used again.
	lingerBytes = 64 << 20
	lingerTime  = 2 * time.Second
)

// clientTerms bounds what clients may take: bytes, and time to send and to read.
type clientTerms struct {
	now          func() time.Time
	maxBody      int64         // bytes of a request's body
	writeTimeout time.Duration // of one write to a client
	slowStart    time.Duration // before a slow body is refused; tests shorten it
	lingerTime   time.Duration // for which the rest of a body is dropped; tests shorten it
	draining     *atomic.Bool
	cors         *cors // who may read answers in a browser
}

func newClientTerms(config *Config, now func() time.Time, live *live) *clientTerms {
	return &clientTerms{
		now: now, maxBody: config.MaxBody, writeTimeout: config.WriteTimeout, slowStart: slowStart, lingerTime: lingerTime, draining: &live.draining,
		cors: newCORS(config.CORSOrigins),
	}
}

// leaveBody is called when the answer, a refusal as a rule, is sent while the body is still arriving and will not be read. By
// itself net/http would read the rest of the body first, without a time limit. Full duplex sends the answer first, and a body
// that does not come within lingerTime ends the connection.
func (w *reply) leaveBody(now time.Time) {
	_ = w.control.EnableFullDuplex()
	_ = w.control.SetReadDeadline(now.Add(w.terms.lingerTime))
}

// linger reads and drops the rest of a body after its answer, so that the client reads the answer and not a reset connection,
// and ends the connection unless the body came whole. What net/http does with such a rest differs between its patches: some
// keep the connection, and read what comes later as another request.
func (w *reply) linger(r *http.Request) {
	if w.state.bodyEnded || !w.ended || !w.wrote || !w.alone {
		return
	}
	if !w.dropBody(r) {
		wire.EndConnection(w.bare)
	}
}

// dropBody reports whether the body came whole. A client that waits for 100 Continue sends nothing.
func (w *reply) dropBody(r *http.Request) bool {
	if r.Header.Get("Expect") != "" {
		return false
	}
	_ = w.control.Flush()
	_, err := io.CopyN(io.Discard, r.Body, lingerBytes)
	return err == io.EOF
}
