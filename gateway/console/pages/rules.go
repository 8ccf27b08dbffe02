package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy"
	"sluice/telemetry/recent"
)

type rulesView struct {
	figures.Rules
	Table             []rule
	Counted           bool // the counts are known
	Find, Span        string
	Day               bool
	All               int
	Broken            int // rules of the table
	Warnings, Refusal int64
	RefusedURL        string // of the requests that were refused
	AllURL            string // of all rules
	Spans             []choice
}

// rules shows the table of rules, those first that requests broke.
func (s *site) rules(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := rulesView{Find: q.Get("find"), Day: q.Get("span") == "day", Span: "in the last hour"}
	if v.Day {
		v.Span = "in the last 24 hours"
	}
	counts, unread := s.Figures.Rules(r.Context(), p, v.Day) // the table is there also if the counts cannot be read
	v.Rules, v.Counted = counts, unread == nil
	for _, row := range policy.Table(s.Prefix) {
		x := newRule(row, s.Modes, counts.Broken[row.ID])
		v.Warnings, v.Refusal, v.All = v.Warnings+x.Warned, v.Refusal+x.Refused, v.All+1
		if x.Warned+x.Refused > 0 {
			v.Broken++
		}
		if contains(v.Find, x.ID, x.Field, x.From, string(x.Mode)) {
			v.Table = append(v.Table, x)
		}
	}
	slices.SortStableFunc(v.Table, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Warned, a.Warned))
	})
	v.RefusedURL = "/requests?" + url.Values{"refusal": {"inspect/rules"}, "from": {counts.Since.UTC().Format(time.RFC3339)}}.Encode()
	v.AllURL = rulesURL("", q.Get("span"))
	v.Spans = []choice{{"Last hour", rulesURL(v.Find, ""), !v.Day}, {"Last 24 hours", rulesURL(v.Find, "day"), v.Day}}
	return view{page: "rules", title: "Rules", data: v}, nil
}

// rule is a row of the table of rules, with how often requests broke it.
type rule struct {
	policy.Row
	recent.RuleCount
	Set bool // the mode is not the default one
}

func newRule(row policy.Row, modes policy.Modes, broken recent.RuleCount) rule {
	x := rule{Row: row, RuleCount: broken}
	x.Mode, x.From = modes.Of(row.ID, row.Mode), plain(row.From)
	x.Set = x.Mode != row.Mode
	return x
}

// plain returns a sentence of the service's document as people read it: without the place before it and the strokes of a table.
func plain(from string) string {
	if place, rest, found := strings.Cut(from, ": "); found && len(place) == 1 {
		from = rest
	}
	cells := strings.Split(from, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return strings.Join(slices.DeleteFunc(cells, func(cell string) bool { return cell == "" }), " · ")
}

func rulesURL(find, span string) string {
	values := url.Values{}
	for name, value := range map[string]string{"find": find, "span": span} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return "/rules"
	}
	return "/rules?" + values.Encode()
}
