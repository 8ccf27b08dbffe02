package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

type requestsView struct {
	recent.Page
	Filter                 recent.Filter
	Team                   string
	StatusText, FromText   string
	StatusError, FromError string
	More                   string
	Any                    bool // a filter is set
}

// requests lists the newest requests.
func (s *site) requests(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := requestsView{Team: asked(q, "team"), StatusText: asked(q, "status"), FromText: asked(q, "from")}
	v.Filter = recent.Filter{Refusal: asked(q, "refusal"), Model: asked(q, "model"), Cursor: q.Get("after")}
	if v.Team != "" {
		v.Filter.Teams = []string{v.Team}
	}
	v.Any = v.Team+v.Filter.Refusal+v.Filter.Model+v.FromText+v.StatusText != ""
	if !v.read(s.Deps.Now()) {
		return view{page: "requests", title: "Requests", data: v, status: http.StatusBadRequest}, nil
	}
	list, err := s.Figures.RequestList(r.Context(), p, v.Filter)
	if err != nil {
		return view{}, err
	}
	v.Page = list
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
	return view{page: "requests", title: "Requests", data: v, live: v.Filter.Cursor == ""}, nil
}

// read parses the members that are not plain text, and reports whether they are valid.
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

// readMoment reads RFC 3339, or the value of a browser's time field, in UTC.
func readMoment(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

type requestView struct {
	recent.Request
	Line  []member // in the order of the log
	Trace string
}

// request shows the log line of one request. A log line has no prompt and no key.
func (s *site) request(r *http.Request, p access.Person) (view, error) {
	q, err := s.Figures.Request(r.Context(), p, r.PathValue("request"))
	if err != nil {
		return view{}, err
	}
	v, trace := requestView{Request: q, Line: membersOf(q.Line)}, ""
	for _, m := range v.Line {
		if m.Name == "trace_id" {
			_ = json.Unmarshal([]byte(m.Value), &trace) // else it is not a text
		}
	}
	v.Trace = traceURL(s.TraceURL, trace)
	return view{page: "request", title: "Request " + q.ID, data: v, back: &crumb{"Requests", "/requests"}}, nil
}

// member is a member of a log line; Value is JSON.
type member struct{ Name, Value string }

// membersOf lists the members of a log line in their order.
func membersOf(line string) (list []member) {
	d := json.NewDecoder(strings.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return list
		}
		text, _ := name.(string)
		list = append(list, member{text, string(value)})
	}
	return list
}
