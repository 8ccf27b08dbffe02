package pages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sluice/gateway/console/access"
)

// pageLength is how many rows a page of teams has.
const pageLength = 100

type teamsView struct {
	Teams             []TeamLine
	Find              string
	Found, All        int
	From, To          int // the rows shown, from 1
	Previous, Next    string
	Requests, Refused int64
	Total             Use // of those found
}

// teams lists the teams that the person sees.
func (s *site) teams(r *http.Request, p access.Person) (view, error) {
	all, err := s.Teams.List(r.Context(), p)
	if err != nil {
		return view{}, err
	}
	v := teamsView{Find: strings.TrimSpace(r.URL.Query().Get("find")), All: len(all)}
	for i := range all {
		if t := &all[i]; contains(v.Find, t.ID, t.Description) {
			v.Teams = append(v.Teams, *t)
			v.Total = v.Total.Plus(t.Today)
			v.Refused += t.Refused
		}
	}
	v.cut(r.URL.Query().Get("page"))
	return view{page: "teams", title: "Teams", data: v}, nil
}

// cut leaves the rows of one page.
func (v *teamsView) cut(page string) {
	v.Found = len(v.Teams)
	number, _ := strconv.Atoi(page)
	pages := max((v.Found+pageLength-1)/pageLength, 1)
	number = min(max(number, 1), pages)
	first, end := (number-1)*pageLength, min(number*pageLength, v.Found)
	v.Teams, v.From, v.To = v.Teams[first:end], first+1, end
	link := func(n int) string {
		return "/teams?" + url.Values{"find": {v.Find}, "page": {strconv.Itoa(n)}}.Encode()
	}
	if number > 1 {
		v.Previous = link(number - 1)
	}
	if number < pages {
		v.Next = link(number + 1)
	}
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
