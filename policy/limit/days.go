package limit

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy"
)

// dayNames are the parameters of usage that name days.
var dayNames = []string{"days", "from", "to"}

// AskedDays returns the days that a query names, as the ledger numbers them: ?days=30, or ?from= and ?to=; nil if it names none. The
// default of to is today, and that of from is to.
func AskedDays(query string, now time.Time) ([]int, error) {
	q, err := readQuery(query)
	if err != nil {
		return nil, err
	}
	for _, name := range dayNames {
		if n := len(q[name]); n > 1 {
			return nil, fmt.Errorf("%s: given %d times, allowed once", name, n)
		}
	}
	now = now.UTC()
	switch named := q.Has("from") || q.Has("to"); {
	case named && q.Has("days"):
		return nil, errors.New("days: given beside from or to, allowed either")
	case q.Has("days"):
		n, err := strconv.Atoi(q.Get("days"))
		if err != nil || n < 1 || n > LedgerDays {
			return nil, fmt.Errorf("days: given %s, allowed a whole number from 1 to %d", policy.Brief(q.Get("days")), LedgerDays)
		}
		return daysOf(now.AddDate(0, 0, 1-n), now)
	case !named:
		return nil, nil
	}
	to, err := readDay(q, "to", now)
	if err != nil {
		return nil, err
	}
	from, err := readDay(q, "from", to)
	if err != nil {
		return nil, err
	}
	return daysOf(from, to)
}

// readQuery reads the parameters that name days, part by part, and drops all others, even malformed ones.
func readQuery(query string) (url.Values, error) {
	days := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		values, err := url.ParseQuery(part)
		for piece := range strings.SplitSeq(part, ";") {
			name, _, _ := strings.Cut(piece, "=")
			if plain, bad := url.QueryUnescape(name); bad == nil {
				name = plain
			}
			switch {
			case !slices.Contains(dayNames, name):
			case err != nil:
				return nil, fmt.Errorf("%s: given %s, allowed name=value, escaped", name, policy.Brief(part))
			default:
				days.Add(name, values.Get(name))
			}
		}
	}
	return days, nil
}

// readDay reads one day of the query; absent is its default.
func readDay(q url.Values, name string, absent time.Time) (time.Time, error) {
	if !q.Has(name) {
		return absent, nil
	}
	day, err := time.Parse(DayForm, q.Get(name))
	if err != nil {
		return day, fmt.Errorf("%s: given %s, allowed a day such as %s", name, policy.Brief(q.Get(name)), absent.Format(DayForm))
	}
	return day, nil
}

// daysOf lists the days from one to another.
func daysOf(from, to time.Time) ([]int, error) {
	first, last := from.Format(DayForm), to.Format(DayForm)
	if days, ok := Days(first, last); ok {
		return days, nil
	}
	return nil, fmt.Errorf("from: given %s, allowed a day from %s to %s", policy.Brief(first), OldestDay(to), last)
}
