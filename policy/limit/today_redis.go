package limit

import "strconv"

// today is the day as this process's clock has it, which admit.lua is told: where Redis's own is of another day it does
// not count, but else it saves reckoning one.
type today struct {
	calendar
	dayText, monthText, startText any // boxed once
}

// calendar is the running day.
func (r *Redis) calendar() *today {
	now := r.now()
	if t := r.today.Load(); t != nil && !now.Before(t.start) && now.Before(t.end[0]) {
		return t
	}
	c := calendarOf(now)
	t := &today{c, strconv.Itoa(c.day), strconv.Itoa(c.month), strconv.FormatInt(c.start.UnixMicro(), 10)}
	r.today.Store(t)
	return t
}
