package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sluice/gateway/console/access"
)

type rulesView struct {
	Rules
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
	all, err := s.House.Rules(r.Context(), p, v.Day)
	if err != nil {
		return view{}, err
	}
	v.Rules, v.All = all, len(all.Table)
	v.Table = nil
	for i := range all.Table {
		x := &all.Table[i]
		v.Warnings, v.Refusal = v.Warnings+x.Warned, v.Refusal+x.Refused
		if x.Warned+x.Refused > 0 {
			v.Broken++
		}
		if contains(v.Find, x.ID, x.Field, x.From, x.Mode) {
			v.Table = append(v.Table, *x)
		}
	}
	slices.SortStableFunc(v.Table, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Warned, a.Warned))
	})
	v.RefusedURL = "/requests?" + url.Values{"refusal": {"inspect/rules"}, "from": {all.Since.UTC().Format(time.RFC3339)}}.Encode()
	v.AllURL = rulesURL("", q.Get("span"))
	v.Spans = []choice{{"Last hour", rulesURL(v.Find, ""), !v.Day}, {"Last 24 hours", rulesURL(v.Find, "day"), v.Day}}
	return view{page: "rules", title: "Rules", data: v}, nil
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
