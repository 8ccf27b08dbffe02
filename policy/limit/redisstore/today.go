package redisstore

import (
	"strconv"

	"sluice/policy/limit"
)

// today is the day as this process's clock has it, which admit.lua is told: where Redis's own is of another day it does
// not count, but else it saves reckoning one.
type today struct {
	limit.Calendar
	dayText, monthText, startText any // boxed once
}

// calendar is the running day.
func (r *Store) calendar() *today {
	now := r.Now()
	if t := r.today.Load(); t != nil && !now.Before(t.Start) && now.Before(t.End[0]) {
		return t
	}
	c := limit.CalendarOf(now)
	t := &today{c, strconv.Itoa(c.Day), strconv.Itoa(c.Month), strconv.FormatInt(c.Start.UnixMicro(), 10)}
	r.today.Store(t)
	return t
}
