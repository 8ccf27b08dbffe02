package pages

import (
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
)

type nowView struct {
	figures.Now
	Day    bool
	Figure figure
	// Requests and Refused are those of the steps shown.
	Requests, RefusedShown int64
	Midnight               string // for links to today's requests
	TodayURL, ShownURL     string // the rows of today's spend, and the requests of the steps shown
}

// now shows the traffic of this moment, and the faults.
func (s *site) now(r *http.Request, p access.Person) (view, error) {
	day := r.URL.Query().Get("span") == "day"
	n, err := s.Figures.Now(r.Context(), p, day)
	if err != nil {
		return view{}, err
	}
	v := nowView{Now: n, Day: day, Figure: stepsFigure(n.Steps, n.Step)}
	for _, x := range n.Steps {
		v.Requests += x.Requests
		v.RefusedShown += x.Refused
	}
	if len(n.Steps) > 0 {
		v.ShownURL = "/requests?" + url.Values{"from": {n.Steps[0].At.UTC().Format(time.RFC3339)}}.Encode()
	}
	begun := midnight(s.Now())
	v.Midnight = begun.Format(time.RFC3339)
	v.TodayURL = "/money?" + url.Values{"from": {begun.Format(time.DateOnly)}, "to": {begun.Format(time.DateOnly)}, "by": {"team"}}.Encode()
	return view{page: "now", title: "Now", data: v, live: true}, nil
}
