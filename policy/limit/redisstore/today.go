package redisstore

import (
	"strconv"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
)

// today is the day by this process's clock. admit.lua uses it if Redis's own day is the same: that saves computing one.
type today struct {
	limit.Calendar
	before                        int // the day before, yyyymmdd
	dayText, monthText, startText any // converted once
}

// dayNow keeps the current day.
type dayNow struct{ kept atomic.Pointer[today] }

// at is the day of a moment.
func (d *dayNow) at(now time.Time) *today {
	if t := d.kept.Load(); t != nil && !now.Before(t.Start) && now.Before(t.End[0]) {
		return t
	}
	c := limit.CalendarOf(now)
	t := &today{c, limit.CalendarOf(c.Start.AddDate(0, 0, -1)).Day, strconv.Itoa(c.Day), strconv.Itoa(c.Month), strconv.FormatInt(c.Start.UnixMicro(), 10)}
	d.kept.Store(t)
	return t
}

// of is the calendar of a moment, most likely of this day.
func (t *today) of(now time.Time) limit.Calendar {
	if !now.Before(t.Start) && now.Before(t.End[0]) {
		return t.Calendar
	}
	return limit.CalendarOf(now)
}

// dayFields are the fields of the hash of quotas for what a day and its month hold and have used, by the number of the quota.
type dayFields struct {
	day        int
	held, used [limit.QuotaCount]any // converted once
}

// fieldsNow keeps those of the day that was asked for last.
type fieldsNow struct{ kept atomic.Pointer[dayFields] }

func (f *fieldsNow) on(day int) *dayFields {
	if d := f.kept.Load(); d != nil && d.day == day {
		return d
	}
	d := &dayFields{day: day}
	for q := range d.held {
		d.held[q], d.used[q] = fieldOf(day, q, ":held"), fieldOf(day, q, ":used")
	}
	f.kept.Store(d)
	return d
}
