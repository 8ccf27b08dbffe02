package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/teamform"
	"sluice/policy/teams"
)

// keyPages are the forms of a team's keys.
type keyPages struct{ teamPages }

// formOf returns the form of a key's own limits, if the person may change the key.
func (s keyPages) formOf(r *http.Request, p access.Person) (v formView, members map[string]json.RawMessage, err error) {
	t, err := s.Teams.Show(r.Context(), p, r.PathValue("team"))
	key := keyOf(&t, r.PathValue("key"))
	switch {
	case err != nil:
		return v, nil, err
	case !p.MakesKeys(t.ID, t.Flag("self_service")):
		return v, nil, errForbidden
	case t.Owner == teams.OwnerFile:
		return v, nil, errOfFile
	case key == nil:
		return v, nil, errAbsent
	}
	v = formView{ID: t.ID, Key: key.ID, Version: t.ETag(), Groups: teamform.Key()}
	v.Groups.Fill(key.Members)
	return v, key.Members, nil
}

// edit shows the form with a key's own limits.
func (s keyPages) edit(r *http.Request, p access.Person) (view, error) {
	v, _, err := s.formOf(r, p)
	if err != nil {
		return view{}, err
	}
	return formPage(v, 0)
}

// change sets a key's own limits, or shows the form again with its fault.
func (s keyPages) change(r *http.Request, p access.Person) (view, error) {
	v, members, err := s.formOf(r, p)
	if err != nil {
		return view{}, err
	}
	v.Reason = r.PostFormValue("reason")
	v.Groups.Typed(r.PostForm)
	_, err = s.Teams.ChangeKey(r.Context(), actor(r, p), v.ID, v.Key, v.Groups.Change(), r.PostFormValue("version"))
	if err == nil {
		return view{to: keyURL(v.ID, v.Key) + "?done=limited"}, nil
	}
	return v.again(err, r.PostFormValue("version"), teamform.Key(), members)
}

type mintedView struct {
	teams.NewKey
	Team, Old string
	OldOff    bool // the old key is disabled
	Start     startView
}

// mint makes a key and shows it, once.
func (s keyPages) mint(r *http.Request, p access.Person) (view, error) {
	order := teams.KeyOrder{Note: r.PostFormValue("note")}
	if day := r.PostFormValue("expires"); day != "" {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return s.after(r, p, "mint", "", invalid("expires", "give a day such as "+s.Deps.Now().AddDate(0, 3, 0).
				Format(time.DateOnly)+", or leave it empty"))
		}
		if !at.After(s.Deps.Now()) {
			return s.after(r, p, "mint", "", invalid("expires", "give a day after today: the key ends as that day begins, in UTC"))
		}
		order.Expires = &at
	}
	id := r.PathValue("team")
	limits := teamform.Key()
	limits.Typed(r.PostForm)
	order.KeyMembers = (&teams.Key{Members: limits.Members(nil)}).Written()
	made, err := s.Teams.Mint(r.Context(), actor(r, p), id, r.PostFormValue("version"), order)
	if err != nil {
		return s.after(r, p, "mint", "", sentTwice(err))
	}
	return s.mintedPage(r, p, mintedView{NewKey: made, Team: id}), nil
}

// sentTwice changes the error of a form for an older version of the team, as after a reload: there may be a new key already.
func sentTwice(err error) error {
	if about := own(err); about != nil && about.Code == teams.CodeLost {
		return &teams.Problem{
			Code: teams.CodeLost, Text: "no key was made: the form is older than the team",
			Advice: "look whether the list has a new key already; if not, send the form again",
		}
	}
	return err
}

// grace is how long an old key keeps working, by the form's choices.
var grace = map[string]time.Duration{"now": 0, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// rotate makes a key in place of another and shows it, once.
func (s keyPages) rotate(r *http.Request, p access.Person) (view, error) {
	id, old := r.PathValue("team"), r.PathValue("key")
	after, known := grace[r.PostFormValue("ends")]
	if !known {
		return s.after(r, p, "keys", "", invalid("ends", "choose when the old key ends"))
	}
	ends := s.Deps.Now().Add(after)
	made, err := s.Teams.Mint(r.Context(), actor(r, p), id, r.PostFormValue("version"), teams.KeyOrder{Replaces: old, OldEnds: &ends})
	if err != nil {
		return s.after(r, p, "keys", "", sentTwice(err))
	}
	return s.mintedPage(r, p, mintedView{NewKey: made, Team: id, Old: old}), nil
}

// mintedPage shows a new key and how to start with it. Its live part is that of the page start, which shows the same without the key.
func (s keyPages) mintedPage(r *http.Request, p access.Person, v mintedView) view {
	t, _ := s.Teams.Show(r.Context(), p, v.Team) // after an error the examples have no model
	t.ID = v.Team
	old := keyOf(&t, v.Old)
	v.OldOff = old != nil && old.Disabled
	v.Start = s.startOf(r, p, &t, v.ID)
	return view{
		page: "minted", liveURL: startURL(v.Team, v.ID), title: "New key of " + v.Team, status: http.StatusCreated, data: v,
		back: &crumb{v.Team, "/teams/" + url.PathEscape(v.Team)},
	}
}

// setState disables or enables a key.
func (s keyPages) setState(r *http.Request, p access.Person) (view, error) {
	members, what := []byte(`{"disabled":false}`), "onkey"
	if r.PostFormValue("disabled") == "true" {
		members, what = []byte(`{"disabled":true}`), "offkey"
	}
	_, err := s.Teams.ChangeKey(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("key"), members, r.PostFormValue("version"))
	return s.after(r, p, "keys", what, err)
}

// remove ends a key immediately.
func (s keyPages) remove(r *http.Request, p access.Person) (view, error) {
	return s.after(r, p, "keys", "unkeyed", s.Teams.EndKey(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("key")))
}
