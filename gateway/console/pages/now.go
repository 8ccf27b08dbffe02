package pages

import (
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy/unit"
)

type nowView struct {
	figures.Now
	Day                    bool
	Figure                 chart.Figure
	Requests, RefusedShown int64  // of the shown steps
	Midnight               string // for links to today's requests
	TodayURL, ShownURL     string // the rows of today's spend, and the requests of the shown steps
	Away                   bool   // only Wrong could be read
	Unpriced               bool   // no model has a price
	Wrong                  []wrong
}

// wrong is a fault, and the page that shows more of it.
type wrong struct {
	figures.Fault
	Title, URL string
}

// wrongs gives faults their titles and pages.
func wrongs(list []figures.Fault) (all []wrong) {
	for _, f := range list {
		w := wrong{f, f.Subject, ""}
		team := "/teams/" + url.PathEscape(f.Subject)
		switch f.Kind {
		case "service":
			w.Title, w.URL = "The service", "/requests?status=failed"
		case "latency":
			w.URL = "/latency?" + url.Values{"of": {f.Subject}}.Encode()
		case "refused":
			w.URL = "/requests?" + url.Values{"team": {f.Subject}, "refusal": {"any"}}.Encode()
		case "account":
			w.Title, w.URL = "Account "+f.Subject, "/accounts"
		case "limit", "key":
			w.URL = team
		case "hook":
			w.Title, w.URL = "Hook "+f.Subject, "/events?"+url.Values{"hook": {f.Subject}}.Encode()
		case "process":
			w.Title = unit.Name(f.Subject).Title()
			w.Text = strings.TrimPrefix(f.Text, w.Title+" ") // such as "Redis has been away"
		}
		if f.Subject == "" && f.Kind != "service" || f.Subject == "the house" { // several more faults, or no team
			w.Title, w.URL = f.Subject, ""
		}
		all = append(all, w)
	}
	return all
}

// now shows the traffic of this moment, and the faults.
func (s *site) now(r *http.Request, p access.Person) (view, error) {
	day := r.URL.Query().Get("span") == "day"
	n, err := s.Figures.Now(r.Context(), p, day)
	if err != nil {
		n = figures.Now{At: s.Deps.Now(), Faults: s.Figures.FaultList(r.Context(), p)}
	}
	v := nowView{
		Now: n, Day: day, Away: err != nil, Unpriced: s.File().Prices == nil, Wrong: wrongs(n.Faults),
		Figure: stepsFigure(n.Steps, n.Step),
	}
	for _, x := range n.Steps {
		v.Requests += x.Requests
		v.RefusedShown += x.Refused
	}
	if len(n.Steps) > 0 {
		v.ShownURL = requestsURL(n.Steps[0].At, time.Time{}, withPolls)
	}
	begun := midnight(s.Now())
	v.Midnight = begun.Format(time.RFC3339)
	v.TodayURL = "/money?" + url.Values{"from": {begun.Format(time.DateOnly)}, "to": {begun.Format(time.DateOnly)}, "by": {"team"}}.Encode()
	return view{page: "now", title: "Now", data: v, live: true}, nil
}

// stepsFigure draws requests over time.
func stepsFigure(steps []figures.Step, step time.Duration) chart.Figure {
	list := make([]chart.Column, len(steps))
	most := int64(0)
	for i, x := range steps {
		served := x.Requests - x.Refused - x.Failed
		list[i] = chart.Column{
			At: x.At, URL: requestsURL(x.At, x.At.Add(step), withPolls), Runs: i == len(steps)-1,
			Title: fmt.Sprintf("%s UTC: %s, %s refused, %s failed", x.At.UTC().Format("15:04"), several(x.Requests, "request"), grouped(x.Refused),
				grouped(x.Failed)), Parts: []float64{float64(served), float64(x.Refused), float64(x.Failed)},
		}
		most = max(most, x.Requests)
	}
	return chart.New(fmt.Sprintf("Requests every %s, at most %s", stepName(step), grouped(most)), list, true,
		func(i int) template.HTML { return moment(formClock, steps[0].At.Add(time.Duration(i)*step)) },
		chart.Series{Class: "a", Name: "served"}, chart.Series{Class: "b", Name: "refused"},
		chart.Series{Class: "c", Name: "failed at the service"})
}

// withPolls fits what the steps count.
var withPolls = url.Values{"polls": {"true"}}

// requestsURL returns the address of the requests of a span that match fit; to may be zero.
func requestsURL(from, to time.Time, fit url.Values) string {
	q := url.Values{"from": {from.UTC().Format(time.RFC3339)}}
	if !to.IsZero() {
		q.Set("to", to.UTC().Format(time.RFC3339))
	}
	maps.Copy(q, fit)
	return "/requests?" + q.Encode()
}

func stepName(step time.Duration) string {
	if step == time.Minute {
		return "minute"
	}
	return several(int64(step/time.Minute), "minute")
}
