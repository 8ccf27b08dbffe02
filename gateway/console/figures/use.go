package figures

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/price"
)

// Use is the use of each unit.
type Use struct {
	Used      limit.Amounts
	Estimated limit.Amounts // the estimated part of Used
}

// Plus returns the sum.
func (u Use) Plus(v Use) Use {
	u.add(&v)
	return u
}

// add is Plus in place, for speed: a page adds up tens of thousands of rows.
func (u *Use) add(v *Use) {
	for unit := range v.Used {
		u.Used[unit] += v.Used[unit]
		u.Estimated[unit] += v.Estimated[unit]
	}
}

// times multiplies in place.
func (u *Use) times(n int64) *Use {
	for unit := range u.Used {
		u.Used[unit] *= n
		u.Estimated[unit] *= n
	}
	return u
}

// Row is the use under one name: of a team, model, endpoint or tag, or of a day in UTC such as 2026-11-21.
type Row struct {
	Name string
	Use
}

// adder adds up use by name.
type adder struct {
	rows []Row
	at   map[string]int // indices of rows, by name
	next int            // the most likely next row: days have much the same names, in the same order
	days *spendDays     // nil: spend by day is not kept
}

// spendDays is the spend of each row of an adder on each of some days.
type spendDays struct {
	days, day int       // the number of days; the index of the day whose use is being added
	of        [][]int64 // by row, in the order before sorting
}

// mostByDay bounds the rows of which spend by day is kept: there may be a million tags.
const mostByDay = 1000

// spend returns the spend by day of a name; nil: not kept.
func (a *adder) spend(name string) []int64 {
	if at, known := a.at[name]; known && a.days != nil && at < len(a.days.of) {
		return a.days.of[at]
	}
	return nil
}

// on sets the day of the use that is added next. If day is not one of days but a month, spend by day is no longer kept.
func (a *adder) on(days []int, day int) {
	if a.days == nil {
		return
	}
	var known bool
	if a.days.day, known = slices.BinarySearch(days, day); !known {
		a.days = nil
	}
}

// add adds use under a name. It skips zero use, such as use that was given back on its own day: no report has it.
func (a *adder) add(name string, u *Use) {
	if *u == (Use{}) {
		return
	}
	if a.next > 0 && a.rows[a.next-1].Name == name {
		a.next--
	} else if a.next >= len(a.rows) || a.rows[a.next].Name != name {
		if a.at == nil {
			a.at = map[string]int{}
		}
		at, known := a.at[name]
		if !known {
			at = len(a.rows)
			a.at[name], a.rows = at, append(a.rows, Row{Name: name})
		}
		a.next = at
	}
	a.rows[a.next].add(u)
	if d := a.days; d != nil {
		if a.next == len(d.of) {
			d.of = append(d.of, make([]int64, d.days))
		}
		d.of[a.next][d.day] += u.Used[limit.Spend]
		if len(d.of) > mostByDay {
			a.days = nil
		}
	}
	a.next++
}

// use returns the sum under a name.
func (a *adder) use(name string) (u Use) {
	if at, known := a.at[name]; known {
		u = a.rows[at].Use
	}
	return u
}

// sorted sorts and returns the rows, by compareUse.
func (a *adder) sorted() []Row {
	slices.SortFunc(a.rows, compareUse)
	return a.rows
}

// compareUse orders by spend, largest first, then requests, most first, then name.
func compareUse(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Used[limit.Spend], a.Used[limit.Spend]), cmp.Compare(b.Used[limit.Requests], a.Used[limit.Requests]),
		strings.Compare(a.Name, b.Name))
}

func useOf(row *limit.Row) Use { return Use{row.Used, row.Estimated} }

// daysOf returns the days of a month, yyyymm.
func daysOf(month int) (days []int) {
	first := time.Date(month/100, time.Month(month%100), 1, 0, 0, 0, 0, time.UTC)
	for day := first; day.Month() == first.Month(); day = day.AddDate(0, 0, 1) {
		days = append(days, price.DayOf(day))
	}
	return days
}

// lastDays returns n days, oldest first; the last is the day of at.
func lastDays(at time.Time, n int) []int {
	days := make([]int, n)
	for i := range days {
		days[i] = price.DayOf(at.UTC().AddDate(0, 0, i+1-n))
	}
	return days
}
