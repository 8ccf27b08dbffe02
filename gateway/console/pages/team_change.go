package pages

import (
	"net/http"
	"net/url"

	"sluice/gateway/console/access"
)

// own is the problem of a form, or nil if the error is not about what was typed: then it gets a page apart.
func own(err error) *Problem {
	if p := problemOf(err); p.Status >= http.StatusBadRequest && p.Status < http.StatusInternalServerError &&
		p.Status != http.StatusNotFound && p.Status != http.StatusForbidden {
		return p
	}
	return nil
}

// after shows a team's page again, with the change or with its fault.
func (s *site) after(r *http.Request, p access.Person, form, what string, err error) (view, error) {
	team := r.PathValue("team")
	if err == nil {
		return view{to: "/teams/" + url.PathEscape(team) + "?done=" + what}, nil
	}
	fault := own(err)
	if fault == nil {
		return view{}, err
	}
	about := *fault
	if form != "" {
		about.Field = form + "." + fault.Field
	}
	return s.teamPage(r, p, &about)
}

// setState disables or enables a team.
func (s *site) setState(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	id, disable := r.PathValue("team"), r.PostFormValue("disabled") == "true"
	t, err := s.Teams.Team(r.Context(), p, id)
	if err != nil {
		return view{}, err
	}
	fields := Fields{}
	for name, value := range t.Fields {
		fields[name] = value
	}
	what := "enabled"
	delete(fields, "disabled")
	delete(fields, "removing")
	if disable {
		what = "disabled"
		fields["disabled"] = []byte("true")
	}
	return s.after(r, p, "state", what, s.Teams.Change(r.Context(), actor(r, p), id, r.PostFormValue("version"), fields))
}

// removeTeam has a team removed that is disabled.
func (s *site) removeTeam(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	err := s.Teams.Remove(r.Context(), actor(r, p), r.PathValue("team"), r.PostFormValue("version"))
	if err == nil {
		return view{to: "/teams?done=removing"}, nil
	}
	return s.after(r, p, "state", "", err)
}

// adjust corrects a team's usage.
func (s *site) adjust(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	a := Adjustment{Unit: r.PostFormValue("unit"), Delta: r.PostFormValue("delta")}
	return s.after(r, p, "adjust", "adjusted", s.Teams.Adjust(r.Context(), actor(r, p), r.PathValue("team"), a))
}
