package limit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/policy/price"
)

// LedgerDays is how long the ledger keeps a day, and so how many days one report may have.
const LedgerDays = 400

// Calendar is the day and the month of a moment, in UTC. Computing it costs more than the rest of an admission, so callers keep it for
// the day.
type Calendar struct {
	Day, Month int              // yyyymmdd and yyyymm
	Start      time.Time        // of the day
	End        [2]time.Time     // of the day and of the month
	length     [2]time.Duration // of the day and of the month
}

// CalendarOf returns the calendar of a moment.
func CalendarOf(t time.Time) (c Calendar) {
	year, month, day := t.UTC().Date()
	c.Day = price.DayOf(t)
	c.Month = c.Day / 100
	c.Start = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	c.End = [2]time.Time{c.Start.AddDate(0, 0, 1), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)}
	c.length = [2]time.Duration{c.End[0].Sub(c.Start), c.End[1].Sub(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC))}
	return c
}

// at returns the calendar of a moment: this one if the moment lies in its day.
func (c *Calendar) at(t time.Time) Calendar {
	if t.Before(c.Start) || !t.Before(c.End[0]) {
		*c = CalendarOf(t)
	}
	return *c
}

// Period is the number of a quota's day or month.
func (c *Calendar) Period(quota int) int {
	if quota%2 == 1 {
		return c.Month
	}
	return c.Day
}

// MonthDays lists the days of the month, yyyymmdd.
func (c *Calendar) MonthDays() []int {
	days := make([]int, c.End[1].AddDate(0, 0, -1).Day())
	for i := range days {
		days[i] = c.Month*100 + i + 1
	}
	return days
}

// forgetDay drops the oldest of too many days.
func forgetDay[T any](days map[int]T) {
	if len(days) > LedgerDays {
		delete(days, slices.Min(slices.Collect(maps.Keys(days))))
	}
}

// DayForm is how reports write a day: 2026-11-21, in UTC.
const DayForm = time.DateOnly

// Days lists the days from one to another, both included, as the ledger numbers them. It reports false if either is not a day, if
// the second is before the first, or if they are more than [LedgerDays].
func Days(from, to string) (days []int, ok bool) {
	first, errFirst := time.Parse(DayForm, from)
	last, errLast := time.Parse(DayForm, to)
	if errFirst != nil || errLast != nil || last.Before(first) || last.Sub(first) >= LedgerDays*24*time.Hour {
		return nil, false
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		days = append(days, price.DayOf(day))
	}
	return days, true
}

// OldestDay is the first day that the ledger has at a moment, as [Days] takes it.
func OldestDay(now time.Time) string { return now.UTC().AddDate(0, 0, 1-LedgerDays).Format(DayForm) }

// DayText writes a day of the ledger as reports do: 20261121 as 2026-11-21.
func DayText(day int) string { return fmt.Sprintf("%04d-%02d-%02d", day/10000, day/100%100, day%100) }

// DayEnds is the end of a day.
func DayEnds(day int) time.Time {
	return time.Date(day/10000, time.Month(day/100%100), day%100+1, 0, 0, 0, 0, time.UTC)
}
