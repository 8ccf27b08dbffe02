package pages

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/telemetry/recent"
)

type latencyView struct {
	By, Of, What, SpanText string
	Dims, Spans, Whats     []choice
	Rows                   []latencyLine
	Figure                 chart.Figure
	Sentence               string // compares the service and Sluice; empty: nothing was measured
}

// latencyLine is a model or an endpoint with its durations.
type latencyLine struct {
	Of, URL string
	Chosen  bool
	Of5     [5]figures.LatencyRow // by kind of duration; Count 0: nothing was measured
}

// whatNames are the names of the kinds of durations, in the order of [recent.Whats].
var whatNames = []string{"Service", "First byte", "Sluice", "Task’s queue", "Task’s run"}

// latency shows how long the service, Sluice and tasks take.
func (s *site) latency(r *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	q, now := r.URL.Query(), s.Deps.Now()
	v := latencyView{By: string(recent.ByModel), Of: asked(q, "of"), What: asked(q, "what"), SpanText: "in the last hour"}
	if q.Get("by") == string(recent.ByEndpoint) {
		v.By = string(recent.ByEndpoint)
	}
	if !slices.Contains(recent.Whats, recent.What(v.What)) {
		v.What = string(recent.Service)
	}
	query := figures.LatencyQuery{
		By: recent.By(v.By), From: now.Add(recent.LatencyStep - time.Hour).Truncate(recent.LatencyStep),
		To: now.Add(time.Minute), Step: recent.LatencyStep,
	}
	if q.Get("span") == "day" {
		v.SpanText, query.Step = "in the last 24 hours", 30*time.Minute
		query.From = now.Add(query.Step - 24*time.Hour).Truncate(query.Step)
	}
	steps, err := s.Figures.Latency(r.Context(), p, query)
	if err != nil {
		return view{}, err
	}
	whole := query
	whole.Step = 0
	rows, err := s.Figures.Latency(r.Context(), p, whole)
	if err != nil {
		return view{}, err
	}
	v.choose(rows, q.Get("span"))
	v.draw(steps, query)
	return view{page: "latency", title: "Latency", data: v}, nil
}

// choose fills the table, and chooses what is drawn: the requested row, or the one with most requests.
func (v *latencyView) choose(rows []figures.LatencyRow, over string) {
	v.Rows = latencyLines(rows)
	most := int64(-1)
	if !slices.ContainsFunc(v.Rows, func(l latencyLine) bool { return l.Of == v.Of }) {
		for i := range v.Rows {
			if n := v.Rows[i].Of5[0].Count; n > most {
				most, v.Of = n, v.Rows[i].Of
			}
		}
	}
	link := func(by, of, what, over string) string {
		return address("/latency", map[string]string{"by": by, "of": of, "what": what, "span": over})
	}
	for i := range v.Rows {
		l := &v.Rows[i]
		l.URL, l.Chosen = link(v.By, l.Of, v.What, over), l.Of == v.Of
		if service, own := l.Of5[0], l.Of5[2]; l.Chosen && service.Count > 0 {
			v.Sentence = fmt.Sprintf("Of a usual request of %s, the service took %s and Sluice %s; of one in twenty, more than %s and %s.", l.Of,
				span(service.P50), span(own.P50), span(service.P95), span(own.P95))
		}
	}
	for i, what := range recent.Whats {
		v.Whats = append(v.Whats, choice{whatNames[i], link(v.By, v.Of, string(what), over), string(what) == v.What})
	}
	v.Dims = []choice{
		{"By model", link("", "", v.What, over), v.By == string(recent.ByModel)},
		{"By endpoint", link("endpoint", "", v.What, over), v.By == string(recent.ByEndpoint)},
	}
	v.Spans = []choice{
		{"Last hour", link(v.By, v.Of, v.What, ""), over != "day"},
		{"Last 24 hours", link(v.By, v.Of, v.What, "day"), over == "day"},
	}
}

// latencyLines returns a line for each model or endpoint.
func latencyLines(rows []figures.LatencyRow) (lines []latencyLine) {
	for i := range rows {
		r := &rows[i]
		if last := len(lines) - 1; last < 0 || lines[last].Of != r.Of {
			lines = append(lines, latencyLine{Of: r.Of})
		}
		lines[len(lines)-1].Of5[slices.Index(recent.Whats, r.What)] = *r
	}
	return lines
}

// draw draws the percentiles of the chosen row over time, stacked.
func (v *latencyView) draw(steps []figures.LatencyRow, q figures.LatencyQuery) {
	n := int((q.To.Sub(q.From) + q.Step - 1) / q.Step)
	list := make([]chart.Column, n)
	for i := range list {
		list[i].At = q.From.Add(time.Duration(i) * q.Step)
		list[i].Title = list[i].At.UTC().Format("15:04") + " UTC: nothing"
	}
	for i := range steps {
		x := &steps[i]
		at := int(x.Start.Sub(q.From) / q.Step)
		if x.Of != v.Of || string(x.What) != v.What || at < 0 || at >= n {
			continue
		}
		noun := map[bool]string{true: "task", false: "request"}[x.What == recent.Queue || x.What == recent.Run]
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		list[at] = chart.Column{
			At: x.Start,
			Title: fmt.Sprintf("%s UTC: p50 %s, p95 %s, p99 %s, of %s", x.Start.UTC().Format("15:04"), span(x.P50), span(x.P95), span(x.P99),
				several(x.Count, noun)), Parts: []float64{ms(x.P50), ms(x.P95 - x.P50), ms(x.P99 - x.P95)},
		}
	}
	name := whatNames[slices.Index(recent.Whats, recent.What(v.What))]
	label := fmt.Sprintf("%s of %s in ms, in steps of %s", name, v.Of, stepName(q.Step))
	v.Figure = chart.New(label, list, false, func(i int) template.HTML { return moment(formClock, q.From.Add(time.Duration(i)*q.Step)) },
		chart.Series{Class: "a", Name: "half of all take up to this, ms"}, chart.Series{Class: "e", Name: "95 of 100"},
		chart.Series{Class: "s3", Name: "99 of 100"})
}

// taskTimes returns queue and run times of tasks in the last hour by model; nil: none, not readable, or the person does not see all teams.
func (s *site) taskTimes(r *http.Request, p access.Person) (lines []latencyLine) {
	if wantsLive(r) || !p.SeesAll() {
		return nil
	}
	now := s.Deps.Now()
	rows, err := s.Figures.Latency(r.Context(), p, figures.LatencyQuery{
		By: recent.ByModel, From: now.Add(-time.Hour),
		To: now.Add(time.Minute),
	})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(latencyLines(rows), func(l latencyLine) bool { return l.Of5[3].Count == 0 })
}
