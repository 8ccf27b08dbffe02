package pages

import (
	"fmt"
	"html/template"

	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// daysFigure draws one unit of daily use, with the estimated part separate. link returns a day's address; nil: none. before are the
// days that it is compared with, as ghosts behind.
func daysFigure(days []figures.Row, of int, in unit.Currency, link func(day string) string, before ...figures.Row) chart.Figure {
	list := make([]chart.Column, len(days))
	name, scale, total := string(teams.Units[of]), 1.0, int64(0)
	if of == limit.Spend {
		name, scale = currencyOr(in.Word), 1/float64(in.Money.Parts())
	}
	named := dayNames(days)
	for i, d := range days {
		used, estimated := d.Used[of], d.Estimated[of]
		total += used
		list[i] = chart.Column{
			URL:   linkTo(link, d.Name),
			Title: fmt.Sprintf("%s: %s %s, %s of it estimated", named(d), inWords(in.Money, of, used), name, inWords(in.Money, of, estimated)),
			Parts: []float64{float64(used-estimated) * scale, float64(estimated) * scale},
		}
		if i < len(before) {
			list[i].Ghost = float64(before[i].Used[of]) * scale
			list[i].Title += fmt.Sprintf("; %s before, on %s", inWords(in.Money, of, before[i].Used[of]), dayText(before[i].Name))
		}
	}
	series := []chart.Series{{Class: "a", Name: "exact"}, {Class: "e", Name: "estimated"}}
	label := fmt.Sprintf("%s a day over %s, %s in all", name, several(int64(len(days)), "day"), inWords(in.Money, of, total))
	f := chart.New(label, list, of != limit.Spend, func(i int) template.HTML { return dayLabel(named(days[min(i, len(days)-1)])) }, series...)
	if len(before) > 0 {
		f.Legend = append(f.Legend, chart.Series{Class: "ghost", Name: "the days before"})
	}
	return f
}

func linkTo(link func(string) string, name string) string {
	if link == nil {
		return ""
	}
	return link(name)
}

// dayNames names days of the ledger, with years if they span several.
func dayNames(days []figures.Row) func(figures.Row) string {
	const year = len("2026")
	if n := len(days); n > 0 && days[0].Name[:year] != days[n-1].Name[:year] {
		return func(d figures.Row) string { return dayText(d.Name) + " " + d.Name[:year] }
	}
	return func(d figures.Row) string { return dayText(d.Name) }
}

// dayLabel writes a day below a chart.
func dayLabel(name string) template.HTML {
	return template.HTML(template.HTMLEscapeString(name)) //nolint:gosec // it is escaped
}

// inWords writes an amount for a tooltip.
func inWords(m unit.Money, of int, n int64) string {
	if of == limit.Spend {
		return rounded(m, n, 2)
	}
	return grouped(n)
}

func currencyOr(currency string) string {
	if currency == "" {
		return "spend"
	}
	return currency
}
