package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"sluice/policy/teams"
)

// contentPolicy forbids inline code, frames and other sites, except pictures from the sources.
func contentPolicy(pictures []string) string {
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "font-src 'self'",
		"img-src " + strings.Join(append([]string{"'self'", "data:"}, pictures...), " "),
		"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// guard wraps every handler: it sets the security headers, and refuses other host names, cross-site requests and large bodies.
func (c *console) guard(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, teams.CodeForbidden, "The request comes from another site.")
	}))
	next = protection.Handler(next)
	policy := contentPolicy(c.deps.Pictures)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers would call forms' origin null
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		switch {
		case !c.answersTo(r.Host):
			refuse(w, r, CodeHost, "This host name is not the console's; allowed: localhost and the name in SLUICE_CONSOLE_URL.")
		case r.ContentLength > mostBody:
			refuse(w, r, CodeLarge, "The body is larger than 1 MiB.")
		default:
			r = r.Clone(r.Context())
			r.RemoteAddr = net.JoinHostPort(c.deps.Client(r), "0")
			r.Body = http.MaxBytesReader(w, r.Body, mostBody)
			next.ServeHTTP(w, r)
		}
	})
}

// answersTo reports whether a Host header names this console. Another site could point its own name here (DNS rebinding), and its pages
// would count as this site.
func (c *console) answersTo(host string) bool {
	name := nameIn(host)
	return isLoopback(name) || c.deps.URL != nil && strings.EqualFold(name, c.deps.URL.Hostname())
}

// nameIn returns the name in a Host header, without port and brackets.
func nameIn(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(name string) bool {
	address, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && address.IsLoopback()
}

// client returns the address of a request's client.
func client(r *http.Request) string { return nameIn(r.RemoteAddr) }

// isAPI reports whether the answer is for a program, not a person.
func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// refuse answers a problem of the listener: as a document below /api/, else as text.
func refuse(w http.ResponseWriter, r *http.Request, code teams.Code, detail string) {
	if isAPI(r) {
		documentOf(&teams.Problem{Code: code, Text: detail}).Write(w)
	} else {
		http.Error(w, detail, Status(code))
	}
}
