package limit

import (
	"time"

	"sluice/policy"
)

// periodsOf returns the day as yyyymmdd and the month as yyyymm, in UTC.
func periodsOf(t time.Time) (day, month int) {
	year, m, d := t.UTC().Date()
	month = year*100 + int(m)
	return month*100 + d, month
}

// periodEnd returns when the day or the month of t ends, in UTC.
func periodEnd(t time.Time, p policy.Period) time.Time {
	year, month, day := t.UTC().Date()
	if p == policy.PeriodMonth {
		return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
}

// periodLength returns how long the day or the month of t is.
func periodLength(t time.Time, p policy.Period) time.Duration {
	year, month, day := t.UTC().Date()
	start := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if p == policy.PeriodMonth {
		start = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	}
	return periodEnd(t, p).Sub(start)
}
