package pages

import (
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

type mintedView struct {
	teams.NewKey
	Team, Old string
	OldEnds   time.Time
}

// mint makes a key and shows it, once.
func (s *site) mint(r *http.Request, p access.Person) (view, error) {
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

// grace are the times that an old key may go on working, by the form's words.
var grace = map[string]time.Duration{"now": 0, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// rotate makes a key in place of another and shows it, once.
func (s *site) rotate(r *http.Request, p access.Person) (view, error) {
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

// removeKey ends a key at once.
func (s *site) removeKey(r *http.Request, p access.Person) (view, error) {
	return s.after(r, p, "keys", "unkeyed", s.Teams.EndKey(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("key")))
}
