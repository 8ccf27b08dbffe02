package pages

import (
	"html/template"
	"time"
)

// The forms of a moment; a script shows the same parts in the person's own time.
const (
	formSecond = "second" // 22 Nov 18:04:05
	formMinute = "minute" // 22 Nov 2026, 18:04
	formDay    = "day"    // 22 Nov 2026
	formClock  = "clock"  // 18:04
)

var layouts = map[string]string{formSecond: "2 Jan 15:04:05", formMinute: "2 Jan 2006, 15:04", formDay: "2 Jan 2006", formClock: "15:04"}

// moment writes a time in UTC, with all of it in the tooltip.
func moment(form string, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(`<time data-form="` + form + `" datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `" title="` + //nolint:gosec // digits
		t.Format("2006-01-02 15:04:05 UTC") + `">` + t.Format(layouts[form]) + ` UTC</time>`)
}

// dayText writes a day of the ledger, which is a day in UTC: 21 Nov.
func dayText(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.Format("2 Jan")
}

// spanText writes the first and the last of some days: on 22 Nov 2026; 1 Nov to 22 Nov 2026; 23 Nov 2025 to 22 Nov 2026.
func spanText(from, to string) string {
	first, errFirst := time.Parse(time.DateOnly, from)
	last, errLast := time.Parse(time.DateOnly, to)
	const withYear = "2 Jan 2006"
	switch {
	case errFirst != nil || errLast != nil:
		return from + " to " + to
	case from == to:
		return "on " + last.Format(withYear)
	case first.Year() == last.Year():
		return first.Format("2 Jan") + " to " + last.Format(withYear)
	}
	return first.Format(withYear) + " to " + last.Format(withYear)
}

// midnight is when the day of a moment began, in UTC.
func midnight(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }
