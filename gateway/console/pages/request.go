package pages

import (
	"net/http"

	"sluice/gateway/console/access"
)

type requestView struct {
	Request
	Trace string
}

// request shows the log line of one request. A log line has no prompt and no key.
func (s *site) request(r *http.Request, p access.Person) (view, error) {
	q, err := s.Requests.Request(r.Context(), p, r.PathValue("request"))
	if err != nil {
		return view{}, err
	}
	return view{page: "request", title: "Request " + q.ID, data: requestView{q, traceURL(s.TraceURL, q.TraceID)}, back: &crumb{"Requests", "/requests"}}, nil
}
