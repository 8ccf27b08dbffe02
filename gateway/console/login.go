package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/gateway/console/access"
)

// isVisit reports whether a browser goes to an address, and does not load it as a part of a page, which may be another site's. Old
// browsers do not say.
func isVisit(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "" || dest == "document"
}

// isForeign reports whether a page of another site sent the browser here. Old browsers send the page's Origin at most; programs send
// neither.
func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	page, err := url.Parse(origin)
	return origin != "" && (err != nil || page.Host != r.Host)
}

// visits calls next for people who go to an address of a login: failures count against their address, so other sites' pages
// must not be able to cause them.
func (c *console) visits(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !isVisit(r) {
			c.refuse(w, r, http.StatusForbidden, "A login is not a part of a page.")
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
		c.refuse(w, r, http.StatusServiceUnavailable, "The link works once, and not ahead of time.") // browsers load what is still being typed
		return
	}
	c.visits(func(w http.ResponseWriter, r *http.Request) {
		secret, err := c.deps.Desk.ByCode(r.Context(), visitor(r), code)
		c.enter(w, r, secret, "/", err)
	})(w, r)
}

// login logs in with the token or key of the form.
func (c *console) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		c.showLogin(w, r, http.StatusBadRequest, "The form cannot be read.")
		return
	}
	secret, err := c.deps.Desk.Login(r.Context(), visitor(r), strings.TrimSpace(r.PostForm.Get("secret")))
	c.enter(w, r, secret, r.PostForm.Get("next"), err)
}

// enter gives the browser a new session, and ends the one that it had. With an error it shows the login page again.
func (c *console) enter(w http.ResponseWriter, r *http.Request, secret, next string, err error) {
	if err != nil {
		status, detail := problemOf(w, err)
		c.showLogin(w, r, status, detail)
		return
	}
	if old := cookie(r, sessionCookie); old != "" {
		_ = c.deps.Desk.End(r.Context(), old) // it grows idle otherwise
	}
	setCookie(w, r, sessionCookie, secret, 0)
	http.Redirect(w, r, localPath(next), http.StatusSeeOther) //nolint:gosec // localPath leaves paths of the console alone
}

// signOn leads to the issuer. Whom another site sent sees the login page instead: each way to the issuer counts for the visitor's address.
func (c *console) signOn(w http.ResponseWriter, r *http.Request) {
	if !c.deps.Desk.CanSignOn() {
		c.refuse(w, r, http.StatusNotFound, "There is nothing at this address.")
		return
	}
	if isForeign(r) {
		c.showLogin(w, r, http.StatusOK, "")
		return
	}
	on, err := c.deps.Desk.SignOn(r.Context(), visitor(r), localPath(r.URL.Query().Get("next")))
	if err != nil {
		status, detail := problemOf(w, err)
		c.showLogin(w, r, status, detail)
		return
	}
	setCookie(w, r, signOnCookie, on.Secret, access.SignOnLife)
	http.Redirect(w, r, on.Address, http.StatusSeeOther)
}

// callback takes what the issuer gave the browser. What does not belong to the browser's sign-on leaves that one as it is.
func (c *console) callback(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	secret, next, err := c.deps.Desk.Return(r.Context(), visitor(r), cookie(r, signOnCookie), query.Get("state"), query.Get("code"))
	if !errors.Is(err, access.ErrNotBegun) {
		setCookie(w, r, signOnCookie, "", -time.Second)
	}
	c.enter(w, r, secret, next, err)
}

// logout ends the session. If that fails, the browser keeps its cookie, and the page says so.
func (c *console) logout(w http.ResponseWriter, r *http.Request) {
	if secret := cookie(r, sessionCookie); secret != "" {
		if err := c.deps.Desk.End(r.Context(), secret); err != nil {
			status, _ := problemOf(w, err)
			c.refuse(w, r, status, "You are still logged in, because the session cannot be ended at the moment. Try again.")
			return
		}
	}
	setCookie(w, r, sessionCookie, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
