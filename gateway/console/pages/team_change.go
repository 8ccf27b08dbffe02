package pages

import (
	"errors"
	"maps"
	"net/http"
	"net/url"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// own returns the fault of a form; nil if the error is not about the input, and gets a separate page.
func own(err error) *fault {
	f := faultOf(err)
	if f.Code == teams.CodeMissing || f.Code == teams.CodeForbidden || f.Status() >= http.StatusInternalServerError {
		return nil
	}
	return f
}

// after shows a team's page again, with the change or its fault.
func (s teamPages) after(r *http.Request, p access.Person, form, what string, err error) (view, error) {
	team := r.PathValue("team")
	if errors.Is(err, console.ErrAgain) {
		what, err = "again", nil
	}
	if err == nil {
		return view{to: "/teams/" + url.PathEscape(team) + "?done=" + what}, nil
	}
	about := own(err)
	if about == nil {
		return view{}, err
	}
	about.form = form
	return s.teamPage(r, p, about)
}

// setState disables or enables a team.
func (s teamPages) setState(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	id, disable := r.PathValue("team"), r.PostFormValue("disabled") == "true"
	t, err := s.Teams.Show(r.Context(), p, id)
	if err != nil {
		return view{}, err
	}
	members, what := maps.Clone(t.Members), "enabled"
	delete(members, "disabled")
	delete(members, "removing")
	if disable {
		what = "disabled"
		members["disabled"] = []byte("true")
	}
	_, err = s.Teams.Replace(r.Context(), actor(r, p), teams.Spec{ID: id, Members: members}, r.PostFormValue("version"))
	return s.after(r, p, "state", what, err)
}

// removeTeam removes a disabled team.
func (s teamPages) removeTeam(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	_, err := s.Teams.Delete(r.Context(), actor(r, p), r.PathValue("team"), r.PostFormValue("version"))
	if err == nil {
		return view{to: "/teams?done=removing"}, nil
	}
	return s.after(r, p, "state", "", err)
}

// adjust corrects a team's usage.
func (s teamPages) adjust(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	by := console.Correction{
		Unit: unit.Name(r.PostFormValue("unit")), Delta: r.PostFormValue("delta"), Day: r.PostFormValue("day"),
		Account: r.PostFormValue("account"), Once: r.PostFormValue("once"),
	}
	_, err := s.Teams.Adjust(r.Context(), actor(r, p), r.PathValue("team"), by)
	return s.after(r, p, "adjust", "adjusted", err)
}
