package pages

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// moneyBy are the dimensions of Money, with their columns' headings.
var moneyBy = []struct{ Value, Head string }{
	{"team", "Team"},
	{"model", "Model"},
	{"day", "Day (UTC)"},
	{"endpoint", "Endpoint"},
	{"account", "Account"},
	{"tag", "Tag"},
	{"key", "Key"},
	{"kind", "Kind"},
}

type moneyView struct {
	figures.Money
	figures.MoneyQuery
	Head     string
	Choices  []choice
	Figure   chart.Figure
	Pages    pager
	Largest  int64 // spend of a row
	Error    string
	Wait     string // why there are no figures yet
	Oldest   string // the first day that the ledger has; empty: it has all days that are asked for
	CSV      string
	Focus    string // the bill; empty: no currency
	IsMonth  bool   // the days are those of the month so far
	Even     bool   // some of the days are over, so that these can be compared
	Unpriced bool   // no model has a price
	Command  string // a shell command that prints the same
	Presets  []choice
	drawn    []string          // the rows that the chart shows separately
	owners   map[string]string // the teams of the shown keys, as far as they are known

	MonthURL string // the current month by day
}

// choice is one of some links.
type choice struct {
	Name, URL string
	Chosen    bool
}

// money shows the spend of some days.
func (s *site) money(r *http.Request, p access.Person) (view, error) {
	q, fault := readMoneyQuery(r, s.Deps.Now())
	v := moneyView{MoneyQuery: q, Error: fault}
	if fault != "" {
		return view{page: "money", title: "Money", data: v, status: http.StatusBadRequest}, nil
	}
	v.Presets = presets(q, s.Deps.Now())
	v.Before, v.Even, v.Unpriced = before(q, s.Deps.Now()), q.From < dayToday(s.Deps.Now()), s.File().Prices == nil
	if oldest := limit.OldestDay(s.Deps.Now()); q.From < oldest {
		v.Oldest = oldest
	}
	m, err := s.Figures.Money(r.Context(), p, v.MoneyQuery)
	if adding := (*figures.AddingError)(nil); errors.As(err, &adding) {
		v.Wait = faultOf(err).Sentence()
		return view{page: "money", title: "Money", data: v, status: http.StatusServiceUnavailable}, nil
	}
	if err != nil {
		return view{}, err
	}
	v.Money = m
	drawn := daily{days: m.Days, of: limit.Spend, in: s.Currency(), today: dayToday(s.Deps.Now()), link: func(day string) string {
		return moneyURL("/money", figures.MoneyQuery{From: day, To: day, Team: q.Team}, q.By)
	}}
	if m.Was != nil {
		drawn.before = m.Was.Days
	}
	drawn.divide(&m, q.By)
	v.Figure, v.drawn = drawn.figure(), drawn.names
	v.IsMonth = v.Presets[thisMonth].Chosen
	var first, end int
	v.Pages, first, end = newPager(r.URL.Query().Get("page"), len(m.Rows), func(page string) string {
		return moneyURL("/money", q, q.By) + "&page=" + page + "#rows"
	})
	for i := range m.Rows {
		v.Largest = max(v.Largest, m.Rows[i].Used[limit.Spend])
	}
	v.Rows = m.Rows[first:end]
	if q.By == "key" {
		v.owners = s.ownersOf(r.Context(), p, q.Team, v.Rows)
	}
	for _, by := range moneyBy {
		v.Choices = append(v.Choices, choice{"by " + by.Value, moneyURL("/money", q, by.Value), by.Value == q.By})
		if by.Value == q.By {
			v.Head = by.Head
		}
	}
	v.CSV = moneyURL("/money.csv", q, q.By)
	if admin.IsCurrency(s.Currency().Word) {
		v.Focus = moneyURL("/focus.csv", q, "")
	}
	v.Command = command(q)
	v.MonthURL = moneyURL("/money", figures.MoneyQuery{Team: q.Team}, "day")
	return view{page: "money", title: "Money", data: v}, nil
}

// divide divides the days by the first rows of money, unless these are days or there is only one.
func (d *daily) divide(m *figures.Money, by string) {
	for i, apart := range m.Apart {
		if apart != nil && len(m.Rows) > 1 {
			d.names, d.apart = append(d.names, rowName(by, m.Rows[i].Name)), append(d.apart, apart)
		}
	}
	switch left := len(m.Rows) - len(d.names); {
	case left > 1:
		d.others = "others"
	case left == 1: // the only row that is not drawn separately
		i := slices.IndexFunc(m.Rows, func(r figures.Row) bool { return !slices.Contains(d.names, rowName(by, r.Name)) })
		d.others = rowName(by, m.Rows[max(i, 0)].Name)
	}
}

// rowName names a row for people.
func rowName(by, name string) string {
	if by == "kind" {
		return nameOfKind(name)
	}
	return nameOr(name)
}

// ownersOf returns the teams of keys: the queried one, or those that have keys with these ids.
func (s *site) ownersOf(ctx context.Context, p access.Person, team string, rows []figures.Row) map[string]string {
	owners := map[string]string{}
	for i := range rows {
		if !strings.Contains(rows[i].Name, " ") { // with a space it is use without a key
			owners[rows[i].Name] = team
		}
	}
	const atOnce = 1000
	for after, more := "", team == ""; more; {
		var list []teams.Spec
		var err error
		if list, more, err = s.Teams.Page(ctx, p, after, atOnce); err != nil || len(list) == 0 {
			return owners // then the rows have no links
		}
		for i := range list {
			for _, k := range list[i].Keys {
				if _, shown := owners[k.ID]; shown {
					owners[k.ID] = list[i].ID
				}
			}
		}
		after = list[len(list)-1].ID
	}
	return owners
}

// command returns the shell command that prints the same.
func command(q figures.MoneyQuery) string {
	text := "sluice usage"
	switch q.By {
	case "account", "tag", "key":
		text += " --by " + q.By
	case "kind":
		text += " --kinds"
	}
	text += " --from " + q.From + " --to " + q.To
	switch {
	case q.Team == "":
		return text
	case strings.Trim(q.Team, "abcdefghijklmnopqrstuvwxyz0123456789-") == "":
		return text + " --team " + q.Team
	}
	return text + " --team '" + strings.ReplaceAll(q.Team, "'", `'\''`) + "'"
}

// MonthName returns the current month, in words.
func (v moneyView) MonthName() string {
	at, err := time.Parse("2006-01", v.Month.Name)
	if err != nil {
		return v.Month.Name
	}
	return at.Format("January")
}

// Class returns the class of a row's part of the chart; empty: the chart is not divided.
func (v moneyView) Class(name string) string {
	switch i := slices.Index(v.drawn, rowName(v.By, name)); {
	case v.drawn == nil:
		return ""
	case i < 0:
		return othersClass
	default:
		return partClasses[i]
	}
}

// Counted returns the amounts of a row except spend. Kinds have no requests.
func (v moneyView) Counted(a unit.Amounts) []unitAmount {
	if v.By == "kind" {
		return beside(a)
	}
	return counts(a)
}

// Span returns the days, in words.
func (v moneyView) Span() string { return spanText(v.From, v.To) }

// RowURL returns the address of the rows behind a row.
func (v moneyView) RowURL(name string) string {
	q := v.MoneyQuery
	switch q.By {
	case "team":
		q.Team = name
		return moneyURL("/money", q, "model")
	case "day":
		q.From, q.To = name, name
		return moneyURL("/money", q, "team")
	case "key":
		if of := v.owners[name]; of != "" && v.IsMonth { // its page has this month
			return keyURL(of, name)
		}
		fallthrough
	case "model", "endpoint", "tag":
		if name == "" || strings.Contains(name, " ") || name == limit.Other && q.By != "endpoint" {
			return "" // an empty filter would show everything; use without a tag has no name, nor has that of others
		}
		from, _ := time.Parse(time.DateOnly, q.From)
		to, _ := time.Parse(time.DateOnly, q.To)
		fit := url.Values{q.By: {name}}
		if q.Team != "" {
			fit.Set("team", q.Team)
		}
		return requestsURL(from, to.AddDate(0, 0, 1), fit)
	}
	return ""
}

func moneyURL(path string, q figures.MoneyQuery, by string) string {
	values := url.Values{"from": {q.From}, "to": {q.To}}
	if by != "" {
		values.Set("by", by)
	}
	if q.Team != "" {
		values.Set("team", q.Team)
	}
	return path + "?" + values.Encode()
}

// readMoneyQuery reads the query. The default is the current month by team.
func readMoneyQuery(r *http.Request, now time.Time) (q figures.MoneyQuery, fault string) {
	today := now.UTC()
	values := r.URL.Query()
	q = figures.MoneyQuery{From: values.Get("from"), To: values.Get("to"), By: values.Get("by"), Team: asked(values, "team")}
	if q.From == "" {
		q.From = today.AddDate(0, 0, 1-today.Day()).Format(time.DateOnly)
	}
	if q.To == "" {
		q.To = today.Format(time.DateOnly)
	}
	if q.By == "" {
		q.By = "team"
	}
	known := slices.ContainsFunc(moneyBy, func(by struct{ Value, Head string }) bool { return by.Value == q.By })
	if _, ok := limit.Days(q.From, q.To); !ok || !known {
		q.From, q.To = day(q.From), day(q.To)
		fault = "Give days such as " + today.Format(time.DateOnly) + ", the first not after the last, at most 400 of them."
	}
	return q, fault
}

// day returns the text if it is a day, else "": a browser's date field shows only days.
func day(text string) string {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return ""
	}
	return text
}

// before returns the days for comparison with the whole ones among the days of q, or with today if q has only that: for days from the
// first of a month on, as many of the previous month, else as many days just before. It is nil if the ledger cannot have them.
func before(q figures.MoneyQuery, now time.Time) *figures.MoneyQuery {
	if today := dayToday(now); q.From < today {
		q.To = min(q.To, midnight(now).AddDate(0, 0, -1).Format(time.DateOnly))
	}
	from, _ := time.Parse(time.DateOnly, q.From)
	to, _ := time.Parse(time.DateOnly, q.To)
	first, last := from.Add(from.Sub(to)).AddDate(0, 0, -1), from.AddDate(0, 0, -1)
	if from.Day() == 1 && from.Month() == to.Month() && from.Year() == to.Year() {
		first = from.AddDate(0, -1, 0)
		if last = first.Add(to.Sub(from)); to.AddDate(0, 0, 1).Day() == 1 || !last.Before(from) { // a whole month
			last = from.AddDate(0, 0, -1)
		}
	}
	q.From, q.To = first.Format(time.DateOnly), last.Format(time.DateOnly)
	if _, ok := limit.Days(q.From, q.To); !ok || q.From < limit.OldestDay(now) {
		return nil
	}
	return &q
}

// BeforeURL returns the address of the days for comparison.
func (v moneyView) BeforeURL() string { return moneyURL("/money", *v.Before, v.By) }

// BeforeSpan returns those days, in words.
func (v moneyView) BeforeSpan() string { return spanText(v.Before.From, v.Before.To) }

// Compared reports whether rows show a change. Rows by day do not, because their names differ, nor do rows if nothing was spent before.
func (v moneyView) Compared() bool {
	return v.Was != nil && v.Even && v.By != "day" && v.Was.Total.Used[limit.Spend] != 0
}

// Change returns the change of a row's spend, without today's, from the days before, in words.
func (v moneyView) Change(name string, spend int64) string {
	of := func(m *figures.Money) int64 {
		if m != nil {
			if i := slices.IndexFunc(m.Rows, func(r figures.Row) bool { return r.Name == name }); i >= 0 {
				return m.Rows[i].Used[limit.Spend]
			}
		}
		return 0
	}
	return changeText(of(v.Was), spend-of(v.Running))
}

// TotalChange returns the change of all rows' spend.
func (v moneyView) TotalChange() string {
	spend := v.Total.Used[limit.Spend]
	if v.Running != nil {
		spend -= v.Running.Total.Used[limit.Spend]
	}
	return changeText(v.Was.Total.Used[limit.Spend], spend)
}

func changeText(was, is int64) string {
	if was <= 0 {
		if is == was {
			return "–"
		}
		return "new"
	}
	whole := int64(math.Round(100 * float64(is-was) / float64(was)))
	sign := [...]string{"", "±", "+"}[1+cmp.Compare(whole, 0)]
	return sign + grouped(whole) + " %"
}

// thisMonth is the index of the preset of the month so far.
const thisMonth = 3

func presets(q figures.MoneyQuery, now time.Time) []choice {
	today := now.UTC()
	first := today.AddDate(0, 0, 1-today.Day())
	list := []struct {
		name     string
		from, to time.Time
	}{
		{"Today", today, today},
		{"7 days", today.AddDate(0, 0, -6), today},
		{"30 days", today.AddDate(0, 0, -29), today},
		{"This month", first, today},
		{"Last month", first.AddDate(0, -1, 0), first.AddDate(0, 0, -1)},
		{"12 months", today.AddDate(-1, 0, 1), today},
	}
	choices := make([]choice, len(list))
	for i, l := range list {
		of := figures.MoneyQuery{From: l.from.Format(time.DateOnly), To: l.to.Format(time.DateOnly), Team: q.Team}
		choices[i] = choice{l.name, moneyURL("/money", of, q.By), of.From == q.From && of.To == q.To}
	}
	return choices
}
