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
	before int    // the day before, yyyymmdd
	args   []byte // of admit.lua
}

// dayNow keeps the current day.
type dayNow struct{ kept atomic.Pointer[today] }

// at is the day of a moment.
func (d *dayNow) at(now time.Time) *today {
	if t := d.kept.Load(); t != nil && t.has(now) {
		return t
	}
	c := limit.CalendarOf(now)
	args := `,"day":"` + strconv.Itoa(c.Day) + `","month":"` + strconv.Itoa(c.Month) + `","start":` + strconv.FormatInt(c.Start.UnixMicro(), 10)
	t := &today{c, limit.CalendarOf(c.Start.AddDate(0, 0, -1)).Day, []byte(args)}
	d.kept.Store(t)
	return t
}

func (t *today) has(now time.Time) bool { return !now.Before(t.Start) && now.Before(t.End[0]) }

// of is the calendar of a moment, most likely of this day.
func (t *today) of(now time.Time) limit.Calendar {
	if t.has(now) {
		return t.Calendar
	}
	return limit.CalendarOf(now)
}
