package pages

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/why"
	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

type requestsView struct {
	recent.Page
	Asked       map[string]string // the parameters of the filter, trimmed
	Wrong       map[string]string // the faults of parameters
	More        string
	Polls       string // the same with polls; empty: it has them
	RefusalsURL string // of the same team, and of the day if the span is longer than an hour
	Any         bool   // a filter is set
	Rest        bool   // a folded field is set
	Kept        int64  // how many of All are kept
	All         int64  // refused or failed requests that match the filter; 0: it selects others, or all are kept
}

// requests lists the newest requests.
func (s *site) requests(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := requestsView{Asked: map[string]string{}, Wrong: map[string]string{}}
	for _, name := range console.FilterNames {
		if v.Asked[name] = asked(q, name); v.Asked[name] != "" {
			v.Any = true
			v.Rest = v.Rest || slices.Contains(foldedFilters, name)
		}
	}
	filter, faults := console.ReadFilter(func(name string) string { return v.Asked[name] }, readMoment)
	for _, fault := range faults {
		v.Wrong[fault.Field] = requestHints[fault.Field](s.Deps.Now())
	}
	day := !filter.From.IsZero() && s.Deps.Now().Sub(filter.From) > time.Hour
	v.RefusalsURL = refusalsURL("reason", v.Asked["team"], map[bool]string{true: "day"}[day])
	if filter.Cursor, filter.Suggest = q.Get("after"), !wantsLive(r); len(faults) > 0 {
		return view{page: "requests", title: "Requests", data: v, status: http.StatusBadRequest}, nil
	}
	list, err := s.Figures.RequestList(r.Context(), p, filter)
	if err != nil {
		return view{}, err
	}
	v.Page = list
	if filter.Suggest {
		v.count(r.Context(), s, p, filter)
	}
	if list.Next != "" {
		v.More = v.url("after", list.Next)
	}
	if filter.NoPolls {
		v.Polls = v.url("polls", "true")
	}
	return view{page: "requests", title: "Requests", data: v, live: filter.Cursor == ""}, nil
}

// url returns the address of the list with one more parameter.
func (v *requestsView) url(name, value string) string {
	query := maps.Clone(v.Asked)
	query[name] = value
	return address("/requests", query)
}

// count sets Kept and All, if the filter selects refused or failed requests of a span and perhaps a team, and nothing else.
func (v *requestsView) count(ctx context.Context, s *site, p access.Person, f recent.Filter) {
	for name, value := range v.Asked {
		if value != "" && !slices.Contains([]string{"team", "refusal", "from", "to", "polls"}, name) {
			return
		}
	}
	q := figures.RefusedQuery{
		Team: v.Asked["team"], By: "reason", Failed: f.Refusal != recent.AnyRefusal, From: f.From, To: f.To,
	}
	if f.Refusal != "" && !f.NoPolls && !f.From.IsZero() && s.Deps.Now().Sub(f.From) < recent.Kept {
		if q.To.IsZero() {
			q.To = s.Deps.Now()
		}
		found, err := s.Figures.Refused(ctx, p, q)
		if err != nil {
			return // the page shows the list without the counts
		}
		for _, g := range found.Groups {
			if f.Refusal == g.Name {
				v.Kept, v.All = g.Count, g.All
			}
		}
		if f.Refusal == recent.AnyRefusal || f.Refusal == recent.RefusedOrFailed {
			v.Kept, v.All = int64(found.Kept), found.All
		}
	}
	if v.All <= v.Kept {
		v.All = 0
	}
}

// foldedFilters are the fields of the filter that are folded unless one is set.
var foldedFilters = []string{"endpoint", "rule", "limited", "refusal", "to"}

// requestHints return what is allowed in a field of the filter.
var requestHints = map[string]func(now time.Time) string{
	"status": func(time.Time) string { return "Give an HTTP status such as 429, or 4xx, 5xx or failed." },
	"from":   hintMoment,
	"to":     hintMoment,
	"polls":  func(time.Time) string { return "Tick the box, or not." },
}

func hintMoment(now time.Time) string {
	return "Give a time such as " + now.UTC().Format("2006-01-02T15:04") + "."
}

// readMoment parses RFC 3339, or the value of a browser's time field, in UTC.
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
	why.Answer
	Broken []string // the broken rules
	Bar    *standing
	Line   []member // in the order of the log
	Trace  string
}

// standing is a limit as it stood when it refused a request.
type standing struct {
	Was  telemetry.Limit
	Bar  chart.Limit
	Name string // with its owner
	Unit unit.Name
	Rate bool // only what is left of it is known
}

func newStanding(r *recent.Request) *standing {
	l := r.Limit
	if l.Name == "" {
		return nil
	}
	used, rate := l.Used, l.Used+l.Held == 0 && l.Left < l.Limit
	if rate {
		used = l.Limit - l.Left
	}
	return &standing{l, chart.NewLimit(used, l.Held, l.Limit), r.LimitName(), unit.Name(l.Unit), rate}
}

// request shows why a request ended as it did, and its log line, which contains no prompt and no key.
func (s *site) request(r *http.Request, p access.Person) (view, error) {
	q, err := s.Figures.Request(r.Context(), p, r.PathValue("request"))
	switch {
	case errors.Is(err, figures.ErrAbsent):
		return view{}, console.ErrNoRequest
	case err != nil:
		return view{}, err
	}
	v := requestView{
		Request: q, Answer: why.Of(&q), Broken: q.Rules, Bar: newStanding(&q), Line: membersOf(q.Line),
		Trace: traceURL(s.TraceURL, q.TraceID),
	}
	return view{page: "request", title: "Request " + q.ID, data: v, back: &crumb{"Requests", "/requests"}}, nil
}

// member is a member of a log line; Value is JSON.
type member struct{ Name, Value string }

// membersOf returns the members of a log line in order.
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
