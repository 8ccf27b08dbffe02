package pages

import (
	"net/http"
	"net/url"
	"time"

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
func (s teamPages) after(r *http.Request, p access.Person, form, what string, err error) (view, error) {
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
func (s teamPages) setState(r *http.Request, p access.Person) (view, error) {
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
func (s teamPages) removeTeam(r *http.Request, p access.Person) (view, error) {
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
func (s teamPages) adjust(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	a := Adjustment{Unit: r.PostFormValue("unit"), Delta: r.PostFormValue("delta")}
	return s.after(r, p, "adjust", "adjusted", s.Teams.Adjust(r.Context(), actor(r, p), r.PathValue("team"), a))
}

type mintedView struct {
	Minted
	Team, Old string
	OldEnds   time.Time
}

// mint makes a key and shows it, once.
func (s teamPages) mint(r *http.Request, p access.Person) (view, error) {
	key := NewKey{Note: r.PostFormValue("note")}
	if day := r.PostFormValue("expires"); day != "" {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return s.after(r, p, "mint", "", &Problem{Status: http.StatusUnprocessableEntity, Field: "expires", Text: "Give a day such as " + s.Deps.Now().AddDate(0, 3, 0).Format(time.DateOnly) + ", or leave it empty."})
		}
		key.Expires = at
	}
	id := r.PathValue("team")
	made, err := s.Keys.Mint(r.Context(), actor(r, p), id, key)
	if err != nil {
		return s.after(r, p, "mint", "", err)
	}
	return mintedPage(mintedView{Minted: made, Team: id}), nil
}

// grace are the times that an old key may go on working, by the form's words.
var grace = map[string]time.Duration{"now": 0, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// rotate makes a key in place of another and shows it, once.
func (s teamPages) rotate(r *http.Request, p access.Person) (view, error) {
	id, old := r.PathValue("team"), r.PathValue("key")
	after, known := grace[r.PostFormValue("ends")]
	if !known {
		return s.after(r, p, "keys", "", &Problem{Status: http.StatusUnprocessableEntity, Field: old, Text: "Choose when the old key ends."})
	}
	ends := s.Deps.Now().Add(after)
	made, err := s.Keys.Rotate(r.Context(), actor(r, p), id, old, ends)
	if err != nil {
		return s.after(r, p, "keys", "", err)
	}
	return mintedPage(mintedView{Minted: made, Team: id, Old: old, OldEnds: ends}), nil
}

func mintedPage(v mintedView) view {
	return view{page: "minted", title: "New key of " + v.Team, status: http.StatusCreated, data: v, back: &crumb{v.Team, "/teams/" + url.PathEscape(v.Team)}}
}

// removeKey ends a key at once.
func (s teamPages) removeKey(r *http.Request, p access.Person) (view, error) {
	return s.after(r, p, "keys", "unkeyed", s.Keys.Remove(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("key")))
}
