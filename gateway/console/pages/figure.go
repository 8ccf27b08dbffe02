package pages

import (
	"cmp"
	"fmt"
	"html/template"

	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// daily is daily use of one unit, for a chart.
type daily struct {
	days   []figures.Row
	of     int // the unit
	in     unit.Currency
	today  string                  // the day that is not over
	link   func(day string) string // a day's address; nil: none
	before []figures.Row           // the days for comparison, drawn as ghosts behind
	names  []string                // the parts of each day; nil: exact and estimated use
	apart  [][]int64               // by name and day; the rest are the others
	others string                  // the name of the rest; empty: no rest
}

// partClasses are the classes of the parts.
var partClasses = [figures.MostApart]string{"s1", "s2", "s3", "s4", "s5"}

const othersClass = "f"

// series returns the parts of each day.
func (d *daily) series() (series []chart.Series) {
	if d.names == nil {
		return []chart.Series{{Class: "a", Name: "exact"}, {Class: "e", Name: "estimated"}}
	}
	for i, name := range d.names {
		series = append(series, chart.Series{Class: partClasses[i], Name: name})
	}
	if d.others != "" {
		series = append(series, chart.Series{Class: othersClass, Name: d.others})
	}
	return series
}

// parts returns the amounts of a day's parts, in the order of series, and the text of a tooltip.
func (d *daily) parts(day int) (amounts []int64, words string) {
	used, estimated := d.days[day].Used[d.of], d.days[day].Estimated[d.of]
	if d.names == nil {
		return []int64{used - estimated, estimated}, fmt.Sprintf(", %s of it estimated", inWords(d.in.Money, d.of, estimated))
	}
	rest := used
	for i, name := range d.names {
		n := d.apart[i][day]
		amounts, rest = append(amounts, n), rest-n
		if n != 0 {
			words += fmt.Sprintf(", %s %s", name, inWords(d.in.Money, d.of, n))
		}
	}
	if d.others != "" && rest != 0 {
		words += fmt.Sprintf(", %s %s", d.others, inWords(d.in.Money, d.of, rest))
	}
	return append(amounts, rest), words
}

// figure computes the chart.
func (d *daily) figure() chart.Figure {
	list := make([]chart.Column, len(d.days))
	name, scale, total := string(unit.Names[d.of]), 1.0, int64(0)
	if d.of == limit.Spend {
		name, scale = cmp.Or(d.in.Word, "spend"), 1/float64(d.in.Money.Parts())
	}
	named := dayNames(d.days)
	for i, day := range d.days {
		total += day.Used[d.of]
		amounts, words := d.parts(i)
		one := &list[i]
		one.Runs = day.Name == d.today
		one.URL, one.Title = linkTo(d.link, day.Name), fmt.Sprintf("%s: %s %s%s", named(day), inWords(d.in.Money, d.of, day.Used[d.of]), name,
			words)
		for _, n := range amounts {
			one.Parts = append(one.Parts, float64(n)*scale)
		}
		if i < len(d.before) {
			one.Ghost = float64(d.before[i].Used[d.of]) * scale
			one.Title += fmt.Sprintf("; %s before, on %s", inWords(d.in.Money, d.of, d.before[i].Used[d.of]), dayText(d.before[i].Name))
		}
	}
	label := fmt.Sprintf("%s a day over %s, %s in all", name, several(int64(len(d.days)), "day"), inWords(d.in.Money, d.of, total))
	f := chart.New(label, list, d.of != limit.Spend, func(i int) template.HTML { return dayLabel(named(d.days[min(i, len(d.days)-1)])) },
		d.series()...)
	if len(f.Series) > 0 && f.Series[0].Class == "ghost" { // absent if the days before have no use
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

// dayNames returns a function that names days of the ledger, with years if they span several.
func dayNames(days []figures.Row) func(figures.Row) string {
	const year = len("2026")
	if n := len(days); n > 0 && days[0].Name[:year] != days[n-1].Name[:year] {
		return func(d figures.Row) string { return dayText(d.Name) + " " + d.Name[:year] }
	}
	return func(d figures.Row) string { return dayText(d.Name) }
}

// dayLabel formats a day below a chart.
func dayLabel(name string) template.HTML {
	return template.HTML(template.HTMLEscapeString(name)) //nolint:gosec // it is escaped
}

// inWords formats an amount for a tooltip.
func inWords(m unit.Money, of int, n int64) string {
	if of == limit.Spend {
		return rounded(m, n, 2)
	}
	return grouped(n)
}
