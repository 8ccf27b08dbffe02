package pages

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
)

// teamPages are the pages of teams.
type teamPages struct{ Deps }

type teamsView struct {
	pager
	Teams      []TeamLine
	Find       string
	Found, All int
	Refused    int64
	Total      figures.Use // of those found
	At         time.Time
}

// teams lists the teams that the person sees.
func (s teamPages) teams(r *http.Request, p access.Person) (view, error) {
	all, err := s.Teams.List(r.Context(), p)
	if err != nil {
		return view{}, err
	}
	v := teamsView{Find: strings.TrimSpace(r.URL.Query().Get("find")), All: len(all), At: s.Deps.Now()}
	for i := range all {
		if t := &all[i]; contains(v.Find, t.ID, t.Description) {
			v.Teams = append(v.Teams, *t)
			v.Total = v.Total.Plus(t.Today)
			v.Refused += t.Refused
		}
	}
	v.Found = len(v.Teams)
	var first, end int
	v.pager, first, end = newPager(r.URL.Query().Get("page"), v.Found, func(page string) string {
		return "/teams?" + url.Values{"find": {v.Find}, "page": {page}}.Encode()
	})
	v.Teams = v.Teams[first:end]
	return view{page: "teams", title: "Teams", data: v}, nil
}

// contains reports whether one of the texts has the words, whatever their case.
func contains(words string, texts ...string) bool {
	words = strings.ToLower(words)
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), words) {
			return true
		}
	}
	return false
}
