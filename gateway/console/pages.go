package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// LoginPage is the data of the template "login".
type LoginPage struct {
	Problem string // why the last attempt failed; empty: it did not
	Next    string // the path after the login, for a hidden field of the form
	SignOn  string // the address of a sign-on with the issuer; empty: no issuer
}

// UnsentPage is the data of the template "unsent": a form that came without a session. Its fields stay in the page, and are sent again from
// there after a login in another tab, so that a login at the issuer loses nothing either. No form behind the login has a secret.
type UnsentPage struct {
	Problem string
	Away    bool       // the session could not be read; a login may not help
	To      string     // the path that the form was sent to
	Fields  url.Values // what was typed
	Next    string     // the path of the page with the form
}

// SessionsPage is the data of the template "sessions".
type SessionsPage struct {
	Person   access.Person
	Role     string
	Sessions []SessionRow // newest first; empty: they cannot be read
}

// SessionRow is one session.
type SessionRow struct {
	ID, Who, Role, Client, Agent string
	Began, Ends                  time.Time
	Own                          bool // of this browser
}

func (c *console) showLogin(w http.ResponseWriter, r *http.Request, status int, problem string) {
	next := localPath(r.URL.Query().Get("next"))
	if r.Method == http.MethodPost {
		next = localPath(r.PostForm.Get("next"))
	}
	page := LoginPage{Problem: problem, Next: next}
	if c.deps.Access.CanSignOn() {
		page.SignOn = "/login/oidc?next=" + url.QueryEscape(next)
	}
	c.show(w, r, status, "login", page)
}

// A kept form makes a page that is several times as large, and costs whoever sends it nothing: a cookie of no session is refused soon.
const (
	mostKept    = 256 << 10 // bytes of a form that comes with a session's cookie, as of the pages' forms
	mostKeptOut = 16 << 10  // without one, as after a logout in another tab
)

// showUnsent says that a form was not sent, and keeps it. A form that is too large leads to the login.
func (c *console) showUnsent(w http.ResponseWriter, r *http.Request, code teams.Code, problem string) {
	most := map[bool]int64{true: mostKept, false: mostKeptOut}[cookie(r, sessionCookie) != ""]
	r.Body = http.MaxBytesReader(w, r.Body, most)
	switch err, large := r.ParseForm(), (*http.MaxBytesError)(nil); {
	case errors.As(err, &large):
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	case err != nil:
		refuse(w, r, teams.CodeInvalid, "The form cannot be read.")
		return
	}
	page := UnsentPage{
		Problem: problem, Away: code != CodeLogin, To: localPath(r.URL.RequestURI()), Fields: r.PostForm,
		Next: localPath(pageOf(r.URL.EscapedPath(), r.PostForm)),
	}
	switch {
	case code != CodeLogin:
	case cookie(r, sessionCookie) != "":
		page.Problem = "Your session has ended."
	default:
		page.Problem = "You are not signed in."
	}
	c.show(w, r, Status(code), "unsent", page)
}

// pageOf returns the path of the page with the form that is sent to a path. The Referer cannot serve: its query may say that an earlier
// form was counted, or its path may take only POST, after a fault of this form.
func pageOf(to string, form url.Values) string {
	switch parts := strings.Split(to, "/"); {
	case to == "/teams":
		return "/new-team"
	case to == "/sessions/end":
		return "/sessions"
	case strings.HasSuffix(to, "/edit"):
		return to
	case len(parts) == 6 && (parts[3] == "tasks" || parts[3] == "keys" && form.Get("from") == "key"):
		return strings.Join(parts[:5], "/")
	case len(parts) > 3 && parts[1] == "teams":
		return strings.Join(parts[:3], "/")
	}
	return "/"
}

// sessions lists the sessions that the person may see.
func (c *console) sessions(w http.ResponseWriter, r *http.Request) {
	person := access.From(r.Context())
	all, err := c.deps.Access.Sessions(r.Context(), person)
	page := SessionsPage{Person: person, Role: person.Role.String()}
	if err != nil {
		code, _ := problemOf(w, err)
		c.show(w, r, Status(code), "sessions", page)
		return
	}
	for _, s := range all {
		page.Sessions = append(page.Sessions, SessionRow{
			ID: s.ID, Who: s.Person.Name, Role: s.Person.Role.String(), Client: s.Client, Agent: s.Agent,
			Began: s.Began.UTC(), Ends: s.Began.Add(access.Longest).UTC(), Own: s.ID == access.SessionID(cookie(r, sessionCookie)),
		})
	}
	c.show(w, r, http.StatusOK, "sessions", page)
}

// endSession ends a session of the list. A session that the person may not see gets the same answer as an unknown one.
func (c *console) endSession(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		refuse(w, r, teams.CodeInvalid, "The form cannot be read.")
		return
	}
	person := access.From(r.Context())
	ok, err := c.deps.Access.Revoke(r.Context(), visitor(r), person, r.PostForm.Get("id"))
	switch {
	case err != nil:
		code, _ := problemOf(w, err)
		c.show(w, r, Status(code), "sessions", SessionsPage{Person: person, Role: person.Role.String()})
	case !ok:
		refuse(w, r, CodePath, "There is no such session.")
	default:
		http.Redirect(w, r, "/sessions", http.StatusSeeOther)
	}
}

// show renders a template completely before it writes, so that an error still gets a proper answer.
func (c *console) show(w http.ResponseWriter, r *http.Request, status int, name string, page any) {
	var text bytes.Buffer
	if err := c.deps.Templates.ExecuteTemplate(&text, name, page); err != nil {
		c.deps.Log.Error("console page", "page", name, "error", err.Error())
		refuse(w, r, codeInternal, "The page cannot be shown.")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text.Bytes())
	}
}
