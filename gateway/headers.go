package gateway

import (
	"maps"
	"net/http"
	"strings"

	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/forms"
)

// headers has the names of the service's own headers in net/http's canonical form, so that a look-up need not convert them, and
// the operator's settings for them.
type headers struct {
	config *Config

	sse, async, workspace, inspection, resolve, plugin, encryption string
}

func newHeaders(config *Config) *headers {
	name := func(word string) string { return http.CanonicalHeaderKey(config.HeaderPrefix + word) }
	return &headers{
		config: config, sse: name("SSE"), async: name("Async"), workspace: name("WorkSpace"), inspection: name("DataInspection"),
		resolve: name("OssResourceResolve"), plugin: name("Plugin"), encryption: name("EncryptionKey"),
	}
}

// policyCall returns the facts about a request from its headers, for the rules that depend on both headers and body.
func (k *headers) policyCall(s *requestState) policy.Call {
	return policy.Call{
		Endpoint: s.route.endpoint,
		Older:    s.route.older,
		Async:    s.header[k.async],
		SSE:      s.header[k.sse],
		Accept:   accept(s.header),
		Prefix:   k.config.HeaderPrefix,
		Header:   s.header,
		Resolve:  policy.Enabled(s.header[k.resolve]),
	}
}

// creates reports whether a request creates a task if it succeeds. On a forwarded path the client's header decides, because the
// gateway does not know what the path does.
func (k *headers) creates(to *route, r *http.Request) bool {
	return to.creates || to.prefix && to.mayCreate() && r.Method == post && policy.Enabled(r.Header[k.async])
}

// withoutForm returns a copy of a client's header without the fields that set the form of the service's answer: a client of
// OpenAI's interface sets the form in the body.
func (k *headers) withoutForm(h http.Header) http.Header {
	h = maps.Clone(h)
	for _, name := range [...]string{"Accept", k.sse, k.async, k.encryption} {
		delete(h, name)
	}
	return h
}

// outbound builds the header of a request to the service from scratch: only what is set here is sent. Contract headers are
// set from what the rules judged and never copied, so that no trick of a client (a Connection header that names them, a second
// value) makes Sluice and the service read the request differently.
func (k *headers) outbound(s *requestState, authorization string) http.Header {
	o := wire.Fields{Header: make(http.Header, 8), Room: &s.values}
	o.Put("Authorization", authorization)
	o.Put("User-Agent", "sluice")
	o.Put("Accept", "application/json")
	o.Put("Accept-Encoding", "identity") // a compressed answer could not be read
	if policy.AcceptsStream(accept(s.header)) {
		o.Put("Accept", "text/event-stream")
	}
	if policy.Enabled(s.header[k.sse]) {
		o.Put(k.sse, "enable")
	}
	if policy.Enabled(s.header[k.async]) && (!s.route.prefix || s.creates) {
		o.Put(k.async, "enable")
	}
	switch { // from here on, values are the client's
	case s.route.endpoint == policy.EndpointOther:
		o.Put("Accept", "*/*")
		o.Copy(s.header, "Accept")
		o.Copy(s.header, "Content-Type")
		o.Copy(s.header, "Content-Encoding")
		if s.route.reads == forms.Messages {
			o.Copy(s.header, "Anthropic-Version")
			o.Copy(s.header, "Anthropic-Beta")
		}
	case len(s.body) > 0:
		o.Put("Content-Type", "application/json")
	}
	o.Copy(s.header, k.resolve)
	o.Copy(s.header, k.plugin)
	o.Copy(s.header, k.encryption)
	setBy(k.config.Workspace, o, s.header, k.workspace)
	setBy(k.config.DataInspection, o, s.header, k.inspection)
	return o.Header
}

// setBy applies a setting: strip, forward, or a value to send.
func setBy(setting string, to wire.Fields, from http.Header, name string) {
	switch setting {
	case HeaderStrip, "":
	case HeaderForward:
		to.Copy(from, name)
	default:
		to.Put(name, setting)
	}
}

// acceptJSON is shared: no code writes to a header's values.
var acceptJSON = []string{"application/json"}

// accept returns the values of the Accept header, joined.
func accept(h http.Header) string { return strings.Join(h["Accept"], ",") }
