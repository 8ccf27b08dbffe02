package pages

import (
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
)

type refusalsView struct {
	figures.Refused
	By, Team string
	Dims     []choice
	Spans    []choice
	Figure   chart.Figure
	Rows     []refusedRow
	Span     string

	AllURL, RequestsURL string // of all these requests, and with those that were not refused
}

// KeptCount returns Kept in the type of counts.
func (v refusalsView) KeptCount() int64 { return int64(v.Kept) }

// refusedRow is a group with the class of its columns and the address of its requests.
type refusedRow struct {
	figures.RefusedGroup
	Class, URL string
}

// groupClasses are the classes of the groups that a chart shows separately; the others share the last one.
var groupClasses = []string{"c", "b", "a", "e", "d", "f"}

// refusals groups refusals by reason, limit, rule or model, over time.
func (s *site) refusals(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := refusalsView{By: asked(q, "by"), Team: asked(q, "team"), Span: "in the last hour"}
	if !slices.Contains(figures.RefusedBy, v.By) {
		v.By = figures.RefusedBy[0]
	}
	day, now := q.Get("span") == "day", s.Deps.Now()
	query := figures.RefusedQuery{
		Team: v.Team, By: v.By, From: now.Truncate(time.Minute).Add(-59 * time.Minute),
		To: now.Truncate(time.Minute).Add(time.Minute),
	}
	if day {
		v.Span, query.From = "in the last 24 hours", query.To.Add(-24*time.Hour)
	}
	found, err := s.Figures.Refused(r.Context(), p, query)
	if err != nil {
		return view{}, err
	}
	v.Refused = found
	for _, by := range figures.RefusedBy {
		v.Dims = append(v.Dims, choice{"By " + by, refusalsURL(by, v.Team, q.Get("span")), by == v.By})
	}
	v.Spans = []choice{{"Last hour", refusalsURL(v.By, v.Team, ""), !day}, {"Last 24 hours", refusalsURL(v.By, v.Team, "day"), day}}
	rows := url.Values{}
	if v.Team != "" {
		rows.Set("team", v.Team)
	}
	v.RequestsURL = requestsURL(query.From, time.Time{}, rows)
	rows.Set("refusal", "any")
	v.AllURL = requestsURL(query.From, time.Time{}, rows)
	v.Figure = refusedFigure(&found, maps.Clone(rows))
	parameter := map[string]string{"reason": "refusal", "limit": "limited", "rule": "rule", "model": "model"}[v.By]
	for i, g := range found.Groups {
		row := refusedRow{g, groupClasses[min(i, len(groupClasses)-1)], v.AllURL}
		if g.Name != "" {
			rows.Set(parameter, g.Name)
			row.URL = requestsURL(query.From, time.Time{}, rows)
			rows.Del(parameter)
			rows.Set("refusal", "any")
		}
		v.Rows = append(v.Rows, row)
	}
	return view{page: "refusals", title: "Refusals", data: v, back: &crumb{"Requests", "/requests"}}, nil
}

func refusalsURL(by, team, span string) string {
	return address("/refusals", map[string]string{"by": by, "team": team, "span": span})
}

// refusedFigure draws refusals over time, the largest groups separately. fit selects the requests of the links.
func refusedFigure(r *figures.Refused, fit url.Values) chart.Figure {
	apart := min(len(r.Groups), len(groupClasses)-1)
	if len(r.Groups) == len(groupClasses) {
		apart = len(groupClasses)
	}
	steps := 0
	for i := range r.Groups {
		steps = max(steps, len(r.Groups[i].Steps))
	}
	list := make([]chart.Column, steps)
	for n := range list {
		parts, words := make([]float64, min(apart+1, len(groupClasses))), []string{}
		for i := range r.Groups {
			count := r.Groups[i].Steps[n]
			parts[min(i, len(parts)-1)] += float64(count)
			if count > 0 && i < apart {
				words = append(words, grouped(count)+" "+nameOr(r.Groups[i].Name))
			}
		}
		at := r.From.Add(time.Duration(n) * r.Step)
		list[n] = chart.Column{
			At: at, Runs: n == steps-1, URL: requestsURL(at, at.Add(r.Step), fit),
			Title: fmt.Sprintf("%s UTC: %s", at.UTC().Format("15:04"),
				strings.Join(append(words, several(int64(sum(parts)), "refusal")+" in all"), ", ")), Parts: parts,
		}
	}
	var series []chart.Series
	for i := range apart {
		series = append(series, chart.Series{Class: groupClasses[i], Name: nameOr(r.Groups[i].Name)})
	}
	if len(r.Groups) > apart {
		series = append(series, chart.Series{Class: groupClasses[apart], Name: "others"})
	}
	return chart.New(fmt.Sprintf("Refusals every %s", stepName(r.Step)), list, true,
		func(i int) template.HTML { return moment(formClock, r.From.Add(time.Duration(i)*r.Step)) }, series...)
}

func nameOr(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

func sum(parts []float64) (all float64) {
	for _, part := range parts {
		all += part
	}
	return all
}
