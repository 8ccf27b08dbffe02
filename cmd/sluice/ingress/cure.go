package ingress

import (
	"net/http"
	"strings"
)

// kind is the kind of reverse proxy in front of Sluice.
type kind string

const (
	nginx   kind = "nginx"
	haproxy kind = "HAProxy"
	caddy   kind = "Caddy"
	envoy   kind = "Envoy"
	unknown kind = "something without a name, or nothing"
)

// kindOf recognizes the proxy by the headers that it adds to an answer. HAProxy adds none by itself.
func kindOf(h http.Header) kind {
	for _, header := range []string{"Server", "Via"} {
		for _, value := range h.Values(header) {
			for _, k := range []kind{nginx, haproxy, caddy, envoy} {
				if strings.Contains(strings.ToLower(value), strings.ToLower(string(k))) {
					return k
				}
			}
		}
	}
	if h.Get("X-Envoy-Upstream-Service-Time") != "" {
		return envoy
	}
	return unknown
}

// fault is a fault of an ingress.
type fault int

const (
	faultClient fault = iota
	faultHeaders
	faultBody
	faultFrames
	faultSilence
	faultRetries
)

// cures are the right settings, as in the files of deploy/ingress.
var cures = map[fault]map[kind]string{
	faultClient: {
		nginx: "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for", haproxy: "option forwardfor",
		caddy: "no header_up that removes X-Forwarded-For", envoy: "use_remote_address: true",
	},
	faultHeaders: {
		nginx: "large_client_header_buffers 4 32k", haproxy: "tune.bufsize 65536", caddy: "max_header_size 32KiB or none",
		envoy: "max_request_headers_kb: 60",
	},
	faultBody: {
		nginx: "client_max_body_size 64m", haproxy: "no http-request deny by req.body_size, and timeout http-request without a body in it",
		caddy: "request_body max_size 64MiB or none", envoy: "no max_request_bytes below 64 MiB",
	},
	faultFrames: {
		nginx: "proxy_buffering off, and gzip_types without text/event-stream", haproxy: "no compression and no http-buffer of answers",
		caddy: "flush_interval -1, and encode without text/event-stream",
		envoy: "no buffer and no compressor filter for answers",
	},
	faultSilence: {
		nginx: "proxy_read_timeout 330s", haproxy: "timeout server 330s and timeout client 330s",
		caddy: "no read_timeout, response_header_timeout or timeouts write below 330s",
		envoy: "timeouts.request and backendRequest to 0s, stream_idle_timeout to 330s",
	},
	faultRetries: {
		nginx: "proxy_next_upstream off", haproxy: "retries 0, without retry-on", caddy: "lb_retries 0, without lb_try_duration",
		envoy: "no retry policy for POST",
	},
}

// cure returns the right setting; for an unknown proxy those of all kinds.
func (k kind) cure(f fault) string {
	if text, ok := cures[f][k]; ok {
		return text
	}
	var all []string
	for _, known := range []kind{nginx, haproxy, caddy, envoy} {
		all = append(all, cures[f][known]+" ("+string(known)+")")
	}
	return strings.Join(all, ", or ")
}
