package pages

import (
	"net/http"

	"sluice/gateway/console/access"
)

// config shows the effective settings, without secrets.
func (s *site) config(_ *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	return view{page: "config", title: "Config", data: s.Config()}, nil
}
