package pages

import (
	"maps"
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// own returns the fault of a form, or nil if the error does not concern the input: then it gets a separate page.
func own(err error) *fault {
	f := faultOf(err)
	if f.Code == teams.CodeMissing || f.Code == teams.CodeForbidden || f.Status() >= http.StatusInternalServerError {
		return nil
	}
	return f
}

// after shows a team's page again, with the change or with its fault.
func (s teamPages) after(r *http.Request, p access.Person, form, what string, err error) (view, error) {
	team := r.PathValue("team")
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
	by := console.Correction{Unit: teams.Unit(r.PostFormValue("unit")), Delta: r.PostFormValue("delta")}
	_, err := s.Teams.Adjust(r.Context(), actor(r, p), r.PathValue("team"), by)
	return s.after(r, p, "adjust", "adjusted", err)
}

type mintedView struct {
	teams.NewKey
	Team, Old string
	OldEnds   time.Time
}

// mint makes a key and shows it, once.
func (s teamPages) mint(r *http.Request, p access.Person) (view, error) {
	order := teams.KeyOrder{Note: r.PostFormValue("note")}
	if day := r.PostFormValue("expires"); day != "" {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return s.after(r, p, "mint", "", invalid("expires", "give a day such as "+s.Deps.Now().AddDate(0, 3, 0).Format(time.DateOnly)+", or leave it empty"))
		}
		order.Expires = &at
	}
	id := r.PathValue("team")
	made, err := s.Teams.Mint(r.Context(), actor(r, p), id, order)
	if err != nil {
		return s.after(r, p, "mint", "", err)
	}
	return mintedPage(mintedView{NewKey: made, Team: id}), nil
}

// grace are the times for which an old key may keep working, by the form's words.
var grace = map[string]time.Duration{"now": 0, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// rotate makes a key in place of another and shows it, once.
func (s teamPages) rotate(r *http.Request, p access.Person) (view, error) {
	id, old := r.PathValue("team"), r.PathValue("key")
	after, known := grace[r.PostFormValue("ends")]
	if !known {
		return s.after(r, p, "keys", "", invalid("ends", "choose when the old key ends"))
	}
	ends := s.Deps.Now().Add(after)
	made, err := s.Teams.Mint(r.Context(), actor(r, p), id, teams.KeyOrder{Replaces: old, OldEnds: &ends})
	if err != nil {
		return s.after(r, p, "keys", "", err)
	}
	return mintedPage(mintedView{NewKey: made, Team: id, Old: old, OldEnds: ends}), nil
}

func mintedPage(v mintedView) view {
	return view{page: "minted", title: "New key of " + v.Team, status: http.StatusCreated, data: v, back: &crumb{v.Team, "/teams/" + url.PathEscape(v.Team)}}
}

// setKeyState disables or enables a key.
func (s teamPages) setKeyState(r *http.Request, p access.Person) (view, error) {
	members, what := []byte(`{"disabled":false}`), "onkey"
	if r.PostFormValue("disabled") == "true" {
		members, what = []byte(`{"disabled":true}`), "offkey"
	}
	_, err := s.Teams.ChangeKey(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("key"), members, r.PostFormValue("version"))
	return s.after(r, p, "keys", what, err)
}

// removeKey ends a key immediately.
func (s teamPages) removeKey(r *http.Request, p access.Person) (view, error) {
	return s.after(r, p, "keys", "unkeyed", s.Teams.EndKey(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("key")))
}
