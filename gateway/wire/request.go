package wire

import (
	"net/http"
	"strings"
)

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
