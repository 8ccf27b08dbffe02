package pages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
)

type requestsView struct {
	figures.RequestList
	Filter                 figures.RequestFilter
	StatusText, FromText   string
	StatusError, FromError string
	More                   string
	Any                    bool // a filter is set
}

// requests lists the newest requests.
func (s *site) requests(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := requestsView{StatusText: asked(q, "status"), FromText: asked(q, "from")}
	v.Filter = figures.RequestFilter{Team: asked(q, "team"), Refusal: asked(q, "refusal"), Model: asked(q, "model"), After: q.Get("after")}
	v.Any = v.Filter != figures.RequestFilter{After: v.Filter.After} || v.FromText != "" || v.StatusText != ""
	if !v.read(s.Deps.Now()) {
		return view{page: "requests", title: "Requests", data: v, status: http.StatusBadRequest}, nil
	}
	list, err := s.Figures.RequestList(r.Context(), p, v.Filter)
	if err != nil {
		return view{}, err
	}
	v.RequestList = list
	if list.Next != "" {
		query := url.Values{}
		for _, name := range []string{"team", "status", "refusal", "model", "from"} {
			if q.Get(name) != "" {
				query.Set(name, q.Get(name))
			}
		}
		query.Set("after", list.Next)
		v.More = "/requests?" + query.Encode()
	}
	return view{page: "requests", title: "Requests", data: v, live: v.Filter.After == ""}, nil
}

// asked is a member of a query, without the spaces that a paste leaves around it.
func asked(q url.Values, name string) string { return strings.TrimSpace(q.Get(name)) }

// read reads what is not a plain text, and reports whether it can be read.
func (v *requestsView) read(now time.Time) bool {
	var err error
	if v.StatusText != "" {
		if v.Filter.Status, err = strconv.Atoi(v.StatusText); err != nil || v.Filter.Status < 100 || v.Filter.Status > 599 {
			v.StatusError = "Give an HTTP status such as 429."
		}
	}
	if v.FromText != "" {
		if v.Filter.From, err = readMoment(v.FromText); err != nil {
			v.FromError = "Give a time in UTC such as " + now.UTC().Format("2006-01-02T15:04") + "."
		}
	}
	return v.StatusError+v.FromError == ""
}

// readMoment reads RFC 3339, or what a browser's field for a time gives, in UTC.
func readMoment(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}
