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
		switch {
		case s.route.form:
			judge = formed
		case s.route.endpoint == policy.EndpointOther:
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

// formed checks that the headers describe the body once, as an uncompressed form.
func formed(h http.Header) error {
	if err := uncompressed(h); err != nil {
		return err
	}
	if types := h["Content-Type"]; len(types) != 1 {
		return refuse(refuseMedia).say("Content-Type: given %d times, allowed once: multipart/form-data.", len(types))
	}
	media, params, err := mime.ParseMediaType(h["Content-Type"][0])
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return refuse(refuseMedia).say("Content-Type: given %s, allowed multipart/form-data with a boundary.", brief(h["Content-Type"][0]))
	}
	return nil
}

func uncompressed(h http.Header) error {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && (len(encoding) > 1 || !strings.EqualFold(encoding[0], "identity")) {
		return refuse(refuseMedia).say("Content-Encoding: compressed bodies are not allowed; send the JSON uncompressed, without this header.")
	}
	return nil
}

// readable checks that the headers describe the body once, as uncompressed JSON in UTF-8.
func readable(h http.Header) error {
	if err := uncompressed(h); err != nil {
		return err
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
