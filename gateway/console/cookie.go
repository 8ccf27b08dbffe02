package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// The console's cookies, without their prefix.
const (
	sessionCookie = "sluice-session"
	signOnCookie  = "sluice-signon"
)

// isSecure reports whether the browser speaks TLS to the console or to a proxy in front of it. Without, only loopback names are
// answered: some browsers drop Secure cookies there, and TLS would protect nothing.
func isSecure(r *http.Request) bool { return r.TLS != nil || !isLoopback(nameIn(r.Host)) }

// cookieName has the prefix __Host-, so that browsers take the cookie from this host alone, over TLS, for all paths.
func cookieName(r *http.Request, name string) string {
	if isSecure(r) {
		return "__Host-" + name
	}
	return name
}

// cookie returns a cookie's value, "" without one or with two: another site on a neighbouring name could have set one.
func cookie(r *http.Request, name string) string {
	all := r.CookiesNamed(cookieName(r, name))
	if len(all) != 1 {
		return ""
	}
	return all[0].Value
}

// setCookie sets a cookie that scripts cannot read. A life of 0 lasts as long as the browser, below 0 removes it.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure on loopback without TLS alone
		Name: cookieName(r, name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: isSecure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// localPath is where a login leads: next if it is a path of the console, else its first page. Browsers read // and /\ as another
// host, and drop some controls.
func localPath(next string) string {
	plain := !strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) })
	u, err := url.Parse(next)
	if err != nil || !plain || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || u.IsAbs() || u.Host != "" ||
		strings.HasPrefix(u.Path, "//") || strings.HasPrefix(u.Path, "/login") || strings.HasPrefix(u.Path, "/logout") {
		return "/"
	}
	return next
}

func escape(text string) string { return url.QueryEscape(text) }
