package pages

import (
	"encoding/json"
	"net/http"
	"strings"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

type requestView struct {
	recent.Request
	Line  []member // of the log line, in its order
	Trace string
}

// member is a member of a log line; Value is JSON.
type member struct{ Name, Value string }

// request shows the log line of one request. A log line has no prompt and no key.
func (s *site) request(r *http.Request, p access.Person) (view, error) {
	q, err := s.Figures.Request(r.Context(), p, r.PathValue("request"))
	if err != nil {
		return view{}, err
	}
	v := requestView{Request: q, Line: membersOf(q.Line)}
	for _, m := range v.Line {
		trace := ""
		if m.Name == "trace_id" && json.Unmarshal([]byte(m.Value), &trace) == nil {
			v.Trace = traceURL(s.TraceURL, trace)
		}
	}
	return view{page: "request", title: "Request " + q.ID, data: v, back: &crumb{"Requests", "/requests"}}, nil
}

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
