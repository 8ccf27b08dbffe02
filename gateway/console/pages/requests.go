package pages

import (
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/console/access"
)

type requestsView struct {
	RequestList
	Filter    RequestFilter
	FromText  string
	FromError string
	More      string
	Any       bool // a filter is set
}

// requests lists the newest requests.
func (s *site) requests(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := requestsView{FromText: q.Get("from")}
	v.Filter = RequestFilter{Team: q.Get("team"), Status: q.Get("status"), Refusal: q.Get("refusal"), Model: q.Get("model"), After: q.Get("after")}
	v.Any = v.Filter != RequestFilter{After: v.Filter.After} || v.FromText != ""
	if v.FromText != "" {
		at, err := readMoment(v.FromText)
		if err != nil {
			v.FromError = "Give a time in UTC such as " + s.Deps.Now().UTC().Format("2006-01-02T15:04") + "."
			return view{page: "requests", title: "Requests", data: v, status: http.StatusUnprocessableEntity}, nil
		}
		v.Filter.From = at
	}
	list, err := s.Requests.List(r.Context(), p, v.Filter)
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

// readMoment reads RFC 3339, or what a browser's field for a time gives, in UTC.
func readMoment(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}
