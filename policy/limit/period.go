package limit

import "time"

// calendar is the day and the month of a moment, in UTC. The arithmetic costs more than the rest of an admission, so
// it is kept for as long as the day lasts.
type calendar struct {
	day, month int              // yyyymmdd and yyyymm
	start      time.Time        // of the day
	end        [2]time.Time     // of the day and of the month
	length     [2]time.Duration // of the day and of the month
}

func calendarOf(t time.Time) (c calendar) {
	year, month, day := t.UTC().Date()
	c.month = year*100 + int(month)
	c.day = c.month*100 + day
	c.start = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	c.end = [2]time.Time{c.start.AddDate(0, 0, 1), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)}
	c.length = [2]time.Duration{c.end[0].Sub(c.start), c.end[1].Sub(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC))}
	return c
}

// at returns the calendar of a moment: this one, where the moment lies in its day.
func (c *calendar) at(t time.Time) calendar {
	if t.Before(c.start) || !t.Before(c.end[0]) {
		*c = calendarOf(t)
	}
	return *c
}

// period is the number of a quota's day or month.
func (c *calendar) period(quota int) int {
	if quota%2 == 1 {
		return c.month
	}
	return c.day
}
