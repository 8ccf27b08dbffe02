package gateway

import (
	"net/http"
	"strings"
)

// cors lets pages of the operator's origins call the gateway from a browser. Keys come in the Authorization header and never
// in cookies, so no answer allows credentials. nil: pages of other origins may not read answers.
type cors struct {
	origins map[string][]string // each origin as the value of a header
}

func newCORS(origins []string) *cors {
	if len(origins) == 0 {
		return nil
	}
	c := &cors{origins: make(map[string][]string, len(origins))}
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

	// exposed are the headers that a page may read. Content-Type and a few more need no mention.
	exposed = []string{strings.Join([]string{
		"Sluice-Request-Id", "X-Request-Id", "Sluice-Refusal", "Sluice-Task", "Sluice-Held", "Sluice-Warning", "Sluice-Shadow", "Server-Timing",
		"Retry-After", "RateLimit", "RateLimit-Policy", "Cache-Status", "Age", "Allow", "WWW-Authenticate", "X-Should-Retry",
	}, ", ")}
)

// stamp sets the headers of every answer, refusals too: without them a page learns of a refusal only that it failed.
func (c *cors) stamp(answer, request http.Header) {
	if c == nil {
		return
	}
	if answer["Vary"] == nil {
		answer["Vary"] = varyOrigin
	}
	if origin := c.origin(request); origin != nil {
		answer["Access-Control-Allow-Origin"], answer["Access-Control-Expose-Headers"] = origin, exposed
	}
}

// origin is the request's origin if it is one of the operator's, else nil.
func (c *cors) origin(request http.Header) []string {
	if values := request["Origin"]; len(values) == 1 {
		return c.origins[values[0]]
	}
	return nil
}

// method returns the method to route by. A preflight asks for another's: it is an OPTIONS request of a listed origin. All
// others are routed by their own method.
func (c *cors) method(r *http.Request) (method string, preflight bool) {
	if c == nil || r.Method != http.MethodOptions || c.origin(r.Header) == nil {
		return r.Method, false
	}
	asked := r.Header["Access-Control-Request-Method"]
	if len(asked) != 1 {
		return r.Method, false
	}
	return asked[0], true
}

// answerPreflight allows the method of the route, and every header that the page wants to send: libraries add their own, and
// no header that Sluice does not know leaves for the service. A preflight has no key.
func (w *reply) answerPreflight(r *http.Request, to *route) error {
	if w.front != nil {
		w.front.Pass()
	}
	h := w.Header()
	h["Vary"], h["Access-Control-Max-Age"] = varyPreflight, preflightAge
	h["Access-Control-Allow-Methods"] = []string{allowed(to)}
	if asked := r.Header["Access-Control-Request-Headers"]; len(asked) > 0 {
		h["Access-Control-Allow-Headers"] = asked
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
