package pages

import (
	"net/http"

	"sluice/gateway/console/access"
)

// config shows the effective settings, without secrets.
func (s *site) config(r *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	c, err := s.House.Config(r.Context(), p)
	if err != nil {
		return view{}, err
	}
	return view{page: "config", title: "Config", data: c}, nil
}
