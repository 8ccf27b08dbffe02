package pages

import (
	"net/http"

	"sluice/gateway/console/access"
)

// Login is what the login page shows.
type Login struct {
	Issuer   string // the name of the sign-on, such as its host; empty: there is none
	IssuerTo string // the path that begins it
	Action   string // the path that takes a pasted token or key
	Next     string // the path to go to afterwards; the caller has checked it
	Error    string // why the last attempt failed, in words; empty: there was none
	Status   int    // of the answer; 0: 200
}

// WriteLogin writes the login page.
func WriteLogin(w http.ResponseWriter, r *http.Request, l Login) {
	s := &site{Deps: Deps{Currency: func() string { return "" }}}
	s.write(w, r, access.Person{}, &view{page: "login", title: "Sign in", status: l.Status, data: l})
}
