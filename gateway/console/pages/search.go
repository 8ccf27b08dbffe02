package pages

import (
	"net/http"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
)

type searchView struct {
	Text  string
	Found []figures.Found
}

// search redirects to the only match of a whole id, else lists what was found.
func (s *site) search(r *http.Request, p access.Person) (view, error) {
	v := searchView{Text: asked(r.URL.Query(), "q")}
	var err error
	if v.Found, err = s.Figures.Search(r.Context(), p, v.Text); err != nil {
		return view{}, err
	}
	if len(v.Found) > 0 && v.Found[0].ID == v.Text && (len(v.Found) == 1 || v.Found[1].ID != v.Text) {
		return view{to: v.Found[0].Path}, nil
	}
	status := 0
	if len(v.Found) == 0 && v.Text != "" {
		status = http.StatusNotFound
	}
	return view{page: "search", title: "Search", data: v, status: status}, nil
}
