package gateway

import (
	"net/http"
	"strings"

	"sluice/policy"
)

// headerNames are the names of the service's own headers, in the canonical form in which net/http keeps them, so that
// they are looked up without work whatever case a client sent.
type headerNames struct {
	sse, async, workspace, inspection, resolve, plugin, encryption string
}

func newHeaderNames(prefix string) headerNames {
	name := func(word string) string { return http.CanonicalHeaderKey(prefix + word) }
	return headerNames{
		sse: name("SSE"), async: name("Async"),
		workspace: name("WorkSpace"), inspection: name("DataInspection"),
		resolve: name("OssResourceResolve"), plugin: name("Plugin"), encryption: name("EncryptionKey"),
	}
}

// asked is what the headers say of a request, for the rules that couple them to the body.
func (g *Gateway) asked(c *call) policy.Call {
	return policy.Call{
		Endpoint: c.route.endpoint,
		Older:    c.route.older,
		Async:    c.header[g.names.async],
		SSE:      c.header[g.names.sse],
		Accept:   accept(c.header),
		Prefix:   g.config.HeaderPrefix,
		Header:   c.header,
		Resolve:  enabled(c.header[g.names.resolve]),
	}
}

// enabled reads a contract header: "enable" in any case is on; absent, "disable" and anything else are off. The
// rules refuse what is neither.
func enabled(values []string) bool {
	return len(values) > 0 && strings.EqualFold(strings.TrimSpace(values[0]), "enable")
}

// outbound builds the header of a request for the service from nothing: what is not set here does not leave. Contract
// headers are set from what the rules have judged, never copied, so that no trick of the client's (a Connection header
// that names them, a second value) can make Sluice and the service read the request differently.
func (g *Gateway) outbound(c *call) http.Header {
	h := make(http.Header, 8) // room for more would be a larger kind of map, and few requests need it
	h["Authorization"] = []string{g.upstreamKey.Load().Authorization()}
	h["User-Agent"] = userAgent
	h["Accept"] = acceptJSON
	h["Accept-Encoding"] = identity // an answer that must be read must not be compressed
	if policy.AcceptsStream(accept(c.header)) {
		h["Accept"] = acceptStream
	}
	if enabled(c.header[g.names.sse]) {
		h[g.names.sse] = enable
	}
	if enabled(c.header[g.names.async]) {
		h[g.names.async] = enable
	}
	g.copyInto(h, c)
	return h
}

// The values that never change are shared: nothing below writes to a header's values.
var (
	userAgent    = []string{"sluice"}
	acceptJSON   = []string{"application/json"}
	acceptStream = []string{"text/event-stream"}
	identity     = []string{"identity"}
	enable       = []string{"enable"}
)

// copyInto sets what a client may say for itself.
func (g *Gateway) copyInto(h http.Header, c *call) {
	switch {
	case c.route.endpoint == policy.EndpointOther:
		h["Accept"] = acceptAnything
		copyOne(h, c.header, "Accept")
		copyOne(h, c.header, "Content-Type")
		copyOne(h, c.header, "Content-Encoding")
	case len(c.body) > 0:
		h["Content-Type"] = acceptJSON
	}
	copyOne(h, c.header, g.names.resolve)
	copyOne(h, c.header, g.names.plugin)
	copyOne(h, c.header, g.names.encryption)
	setBy(g.config.Workspace, h, c.header, g.names.workspace)
	setBy(g.config.DataInspection, h, c.header, g.names.inspection)
}

var acceptAnything = []string{"*/*"}

// copyOne copies a header that stands there exactly once. Of two values the service might read either.
func copyOne(to, from http.Header, name string) {
	if values := from[name]; len(values) == 1 {
		to[name] = values
	}
}

// setBy follows a setting of the form strip, forward or a value to send.
func setBy(setting string, to, from http.Header, name string) {
	switch setting {
	case HeaderStrip, "":
	case HeaderForward:
		copyOne(to, from, name)
	default:
		to[name] = []string{setting}
	}
}

// accept is the Accept header as one text.
func accept(h http.Header) string { return strings.Join(h["Accept"], ",") }

// inboundNames are the headers of an answer that a team may see. The rest names the account, the service's hosts, or rules
// between other parties.
var inboundNames = [...]string{"Content-Type", "Retry-After", "X-Request-Id"}

// inbound keeps of an answer's header what a team may see.
func inbound(h http.Header) http.Header {
	kept := make(http.Header, 8)
	for _, name := range inboundNames {
		if values := h[name]; len(values) > 0 {
			kept[name] = values[:1]
		}
	}
	return kept
}
