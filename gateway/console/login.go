package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// isVisit reports whether a browser navigates to an address, and does not load it as a part of a page, perhaps another site's. Old
// browsers do not say, and count as navigating.
func isVisit(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "" || dest == "document"
}

// isForeign reports whether a page of another site sent the browser here. Old browsers send at most the page's Origin; programs
// send neither.
func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	page, err := url.Parse(origin)
	return origin != "" && (err != nil || page.Host != r.Host)
}

// visits calls next only if the browser navigates: failed logins count against the client's address, so other sites' pages must not be
// able to cause them.
func visits(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !isVisit(r) {
			refuse(w, r, teams.CodeForbidden, "A login cannot be a part of a page.")
			return
		}
		next(w, r)
	}
}

// loginPage shows the login page, or logs in with the code of a one-time link.
func (c *console) loginPage(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if code == "" {
		c.showLogin(w, r, http.StatusOK, "")
		return
	}
	if r.Method == http.MethodHead || strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		refuse(w, r, teams.CodeAway, "The link works once, and not ahead of time.") // browsers prefetch addresses that are being typed
		return
	}
	visits(func(w http.ResponseWriter, r *http.Request) {
		secret, err := c.deps.Access.ByCode(r.Context(), visitor(r), code)
		c.enter(w, r, secret, "/", err)
	})(w, r)
}

// login logs in with the token or key of the form.
func (c *console) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		c.showLogin(w, r, http.StatusBadRequest, "The form cannot be read.")
		return
	}
	secret, err := c.deps.Access.Login(r.Context(), visitor(r), strings.TrimSpace(r.PostForm.Get("secret")))
	c.enter(w, r, secret, r.PostForm.Get("next"), err)
}

// enter gives the browser a new session, and ends its previous one. With an error it shows the login page again.
func (c *console) enter(w http.ResponseWriter, r *http.Request, secret, next string, err error) {
	if err != nil {
		code, detail := problemOf(w, err)
		c.showLogin(w, r, Status(code), detail)
		return
	}
	if old := cookie(r, sessionCookie); old != "" {
		_ = c.deps.Access.End(r.Context(), old) // if this fails, it expires when idle
	}
	setCookie(w, r, sessionCookie, secret, 0)
	http.Redirect(w, r, localPath(next), http.StatusSeeOther) //nolint:gosec // localPath only lets paths of the console through
}

// signOn redirects to the issuer. Visitors from another site see the login page instead, because each sign-on counts against the client's
// address.
func (c *console) signOn(w http.ResponseWriter, r *http.Request) {
	if !c.deps.Access.CanSignOn() {
		nothing(w, r)
		return
	}
	if isForeign(r) {
		c.showLogin(w, r, http.StatusOK, "")
		return
	}
	on, err := c.deps.Access.SignOn(r.Context(), visitor(r), localPath(r.URL.Query().Get("next")))
	if err != nil {
		code, detail := problemOf(w, err)
		c.showLogin(w, r, Status(code), detail)
		return
	}
	setCookie(w, r, signOnCookie, on.Secret, access.SignOnLife)
	http.Redirect(w, r, on.Address, http.StatusSeeOther)
}

// callback takes the issuer's answer from the browser. An answer that does not belong to the browser's sign-on does not affect it.
func (c *console) callback(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	secret, next, err := c.deps.Access.Return(r.Context(), visitor(r), cookie(r, signOnCookie), query.Get("state"), query.Get("code"))
	if !errors.Is(err, access.ErrNotBegun) {
		setCookie(w, r, signOnCookie, "", -time.Second)
	}
	c.enter(w, r, secret, next, err)
}

// logout ends the session. If that fails, the browser keeps its cookie, and the page reports it.
func (c *console) logout(w http.ResponseWriter, r *http.Request) {
	if secret := cookie(r, sessionCookie); secret != "" {
		if err := c.deps.Access.End(r.Context(), secret); err != nil {
			code, _ := problemOf(w, err)
			refuse(w, r, code, "You are still logged in, because the session cannot be ended at the moment. Try again.")
			return
		}
	}
	setCookie(w, r, sessionCookie, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// The console's cookies, without their prefix.
const (
	sessionCookie = "sluice-session"
	signOnCookie  = "sluice-signon"
)

// isSecure reports whether the browser uses TLS, to the console or a proxy in front of it. Otherwise it uses a loopback name, where some
// browsers drop Secure cookies, and TLS would protect nothing.
func isSecure(r *http.Request) bool { return r.TLS != nil || !isLoopback(nameIn(r.Host)) }

// cookieName adds the prefix __Host-, with which browsers accept the cookie only from this host, over TLS, for all paths.
func cookieName(r *http.Request, name string) string {
	if isSecure(r) {
		return "__Host-" + name
	}
	return name
}

// cookie returns a cookie's value; "" if there is none, or two: another site on a sibling domain may have set one of them.
func cookie(r *http.Request, name string) string {
	all := r.CookiesNamed(cookieName(r, name))
	if len(all) != 1 {
		return ""
	}
	return all[0].Value
}

// setCookie sets a cookie that scripts cannot read. A life of 0 lasts until the browser closes, below 0 removes it.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure except on loopback without TLS
		Name: cookieName(r, name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: isSecure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// localPath returns the target after a login: next if it is a path of the console, else its first page. Browsers read // and /\ as
// another host, and drop some control characters.
func localPath(next string) string {
	plain := !strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) })
	u, err := url.Parse(next)
	if err != nil || !plain || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || u.IsAbs() || u.Host != "" ||
		strings.HasPrefix(u.Path, "//") || strings.HasPrefix(u.Path, "/login") || strings.HasPrefix(u.Path, "/logout") {
		return "/"
	}
	return next
}
