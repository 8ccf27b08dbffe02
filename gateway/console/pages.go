package console

import (
	"bytes"
	"net/http"
	"net/url"
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

// SessionsPage is the data of the template "sessions".
type SessionsPage struct {
	Person   access.Person
	Role     string
	Sessions []SessionRow // newest first
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

// sessions lists the sessions that the person may see.
func (c *console) sessions(w http.ResponseWriter, r *http.Request) {
	person := access.From(r.Context())
	all, err := c.deps.Access.Sessions(r.Context(), person)
	if err != nil {
		c.unknown(w, r, err)
		return
	}
	page := SessionsPage{Person: person, Role: person.Role.String()}
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
	ok, err := c.deps.Access.Revoke(r.Context(), visitor(r), access.From(r.Context()), r.PostForm.Get("id"))
	switch {
	case err != nil:
		c.unknown(w, r, err)
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
