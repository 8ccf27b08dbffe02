package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// known calls next for a person who is logged in, with the person in the context.
func (c *console) known(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	person, err := c.person(r)
	if err != nil {
		c.unknown(w, r, err)
		return
	}
	if !c.paced(w, r, person) {
		return
	}
	ctx := access.With(r.Context(), person)
	if isStream(r) {
		var stop func()
		ctx, stop = c.whileKnown(ctx, r)
		defer stop()
	}
	next(w, r.WithContext(ctx))
}

// PaceBound states the rate of one person's requests.
const PaceBound = "requests to the console: 20 a second for each person, 100 at once; separately for programs and live parts"

const (
	paceRate  = 20
	paceBurst = 100
)

// paced refuses a request of a person who sends too many. An operator's changes do not count: many teams may be changed in a row.
func (c *console) paced(w http.ResponseWriter, r *http.Request, p access.Person) bool {
	if p.Changes() && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	who := "person " + p.Name
	if isProgram(r) {
		who = "program " + p.Name
	}
	if isStream(r) {
		who = "live " + who
	}
	if c.pace.Allows(who, c.deps.Now(), paceRate, paceBurst) {
		return true
	}
	c.deps.Hurried()
	w.Header().Set("Retry-After", "1")
	refuse(w, r, teams.CodeOften, "You send more than 20 requests a second. Wait a second, and send them more slowly.")
	return false
}

// person authenticates a request. A program's token counts only below /api/, and a wrong one is refused even with a valid cookie. Two
// Authorization headers are refused, because another server may read the other one.
func (c *console) person(r *http.Request) (access.Person, error) {
	lines := r.Header["Authorization"]
	if isProgram(r) {
		scheme, token, _ := strings.Cut(lines[0], " ")
		if !strings.EqualFold(scheme, "Bearer") || len(lines) > 1 {
			return access.Person{}, access.ErrWrong
		}
		return c.deps.Access.Bearer(r.Context(), visitor(r), token)
	}
	return c.deps.Access.Know(r.Context(), visitor(r), cookie(r, sessionCookie), !isLive(r))
}

// isProgram reports whether a request has a program's token.
func isProgram(r *http.Request) bool {
	return isAPI(r) && strings.Join(r.Header["Authorization"], "") != ""
}

// isLive reports whether a page's script sent the request, which does not renew an idle session. Old browsers send no Sec-Fetch-Dest.
func isLive(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Dest") == "empty" || isStream(r)
}

func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// streamLook is the time between two checks of a stream's session.
const streamLook = 5 * time.Second

// whileKnown returns a context that ends soon after the session, or when the process stops.
func (c *console) whileKnown(ctx context.Context, r *http.Request) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	stopping := context.Background()
	if c.deps.Stopping != nil {
		stopping = c.deps.Stopping
	}
	over := context.AfterFunc(stopping, stop)
	go func() {
		ticker := time.NewTicker(streamLook)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if _, err := c.person(r); err != nil {
					stop()
				}
			}
		}
	}()
	return ctx, func() { over(); stop() }
}

// unknown answers a request that is not authenticated, or whose check failed.
func (c *console) unknown(w http.ResponseWriter, r *http.Request, err error) {
	code, detail := problemOf(w, err)
	switch {
	case (code == teams.CodeAway || code == CodeLogin) && r.Method == http.MethodPost && !isAPI(r) && isVisit(r):
		c.showUnsent(w, r, code, detail)
		return
	case code == teams.CodeAway && r.Method == http.MethodGet && !isAPI(r) && !isLive(r) && isVisit(r):
		c.showLogin(w, r, Status(code), detail)
		return
	case code == CodeLogin && isAPI(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="sluice console"`)
		detail = "Send the console's token, or the cookie of a session that lasts."
	case code == CodeLogin && r.Header.Get("HX-Request") != "":
		w.Header().Set("HX-Redirect", "/login")
	case code == CodeLogin && !isLive(r):
		address := "/login"
		if next := r.URL.RequestURI(); r.Method == http.MethodGet && next != "/" {
			address += "?next=" + url.QueryEscape(next)
		}
		http.Redirect(w, r, address, http.StatusSeeOther)
		return
	}
	refuse(w, r, code, detail)
}

// problemOf returns the code and the text of a login's error. It sets Retry-After if waiting helps.
func problemOf(w http.ResponseWriter, err error) (code teams.Code, detail string) {
	switch {
	case errors.Is(err, access.ErrAway):
		w.Header().Set("Retry-After", "10")
		return teams.CodeAway, "Logins cannot be checked at the moment, because Redis or the issuer is away. Sessions go on when it is back; " +
			"the operator’s token lets in now, at this replica."
	case errors.Is(err, access.ErrTooMany):
		w.Header().Set("Retry-After", strconv.Itoa(int(access.AttemptsWindow.Seconds())))
		return teams.CodeOften, "This did not log in, and too many logins have failed. A right token or key is let in at any time."
	case errors.Is(err, access.ErrOften):
		w.Header().Set("Retry-After", strconv.Itoa(int(access.AttemptsWindow.Seconds())))
		return teams.CodeOften, "Too many logins of one person or from one address. Go on with a session that you have, or wait ten minutes."
	case errors.Is(err, access.ErrCookies):
		w.Header().Set("Retry-After", strconv.Itoa(int(access.CookiesWindow.Seconds())))
		return teams.CodeOften, "Too many requests with a cookie that belongs to no session. Log in again at /login."
	case errors.Is(err, access.ErrNoRights):
		return teams.CodeForbidden, "The issuer knows you, but your groups give you no rights here. Ask an operator of Sluice."
	}
	if errors.Is(err, access.ErrNotBegun) {
		return CodeLogin, "This browser has no such login at the issuer under way. Begin again here."
	}
	return CodeLogin, "This did not log in. It may be wrong, expired, used or revoked."
}

// visitor returns the origin of a request.
func visitor(r *http.Request) access.Visitor {
	return access.Visitor{Client: client(r), Agent: r.UserAgent(), Foreign: isForeign(r)}
}
