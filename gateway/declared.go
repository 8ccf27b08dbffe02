package gateway

import (
	"mime"
	"net/http"
	"strings"

	"sluice/policy"
)

// declared refuses a body by its declared length and type. It is the half of inspect that needs no body, so it runs before
// throttle.
func (n *inspection) declared(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if r.ContentLength > n.config.MaxBody {
			return refuseTooLarge(n.config.MaxBody)
		}
		judge := readable
		if s.route.endpoint == policy.EndpointOther {
			judge = described
		}
		if err := judge(r.Header); err != nil {
			return err
		}
		return next(w, r, s)
	}
}

// described checks the headers that describe a body which is forwarded unread. If a header came twice, the service might read
// either value.
func described(h http.Header) error {
	for _, name := range [...]string{"Content-Type", "Content-Encoding"} {
		if n := len(h[name]); n > 1 {
			return refuse(refuseMedia).say("%s: given %d times, allowed once.", name, n)
		}
	}
	return nil
}

// readable checks that the headers describe the body once, as uncompressed JSON in UTF-8.
func readable(h http.Header) error {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && (len(encoding) > 1 || !strings.EqualFold(encoding[0], "identity")) {
		return refuse(refuseMedia).say("Content-Encoding: compressed bodies are not allowed; send the JSON uncompressed, without this header.")
	}
	types := h["Content-Type"]
	if len(types) == 1 && types[0] == "application/json" { // nearly every request; parsing the media type allocates
		return nil
	}
	if len(types) != 1 {
		return refuse(refuseMedia).say("Content-Type: given %d times, allowed once: application/json.", len(types))
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return refuse(refuseMedia).say("Content-Type: given %s, allowed application/json.", brief(types[0]))
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse(refuseMedia).say("Content-Type: given the charset %s, allowed utf-8.", brief(charset))
	}
	return nil
}
