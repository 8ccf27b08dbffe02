package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"sluice/policy/limit"
)

// ledgerPatience bounds the reading of a ledger, which may be of many days.
const ledgerPatience = 2 * time.Second

// ledger reads what the query asks for of the team's own ledger: ?days=30, or ?from= and ?to=. It is nil where the query
// asks for none. A team has one reading at a time in this process, since one may be of many days and costs it nothing.
func (g *Gateway) ledger(ctx context.Context, c *call, query string, now time.Time) ([]limit.Entry, error) {
	days, err := askedDays(query, now)
	if err != nil {
		return nil, refuse(refuseRules).say("%s", err.Error())
	}
	if days == nil {
		return nil, nil
	}
	away := refuse(refuseState).say("The ledger of team %s is not known at the moment.", c.Team).retry(time.Second)
	reading := g.slots.of(c.Team).reading
	select {
	case reading <- struct{}{}:
		defer func() { <-reading }()
	case <-ctx.Done():
		return nil, away.because(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerPatience)
	defer cancel()
	rows, err := g.Accounts.Ledger(ctx, c.Team, days)
	if err != nil {
		return nil, away.because(err)
	}
	entries := []limit.Entry{}
	for i := range rows {
		entries = append(entries, rows[i].Entries()...)
	}
	return entries, nil
}

// askedDays are the days that the query of usage names, as the ledger numbers them; nil where it names none. Absent, to is
// today, and from is to.
func askedDays(query string, now time.Time) ([]int, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("query: given %s, allowed name=value, escaped", brief(query))
	}
	for _, name := range []string{"days", "from", "to"} {
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
		if err != nil || n < 1 || n > limit.LedgerDays {
			return nil, fmt.Errorf("days: given %s, allowed a whole number from 1 to %d", brief(q.Get("days")), limit.LedgerDays)
		}
		return daysOf(now.AddDate(0, 0, 1-n), now)
	case !named:
		return nil, nil
	}
	to, err := askedDay(q, "to", now)
	if err != nil {
		return nil, err
	}
	from, err := askedDay(q, "from", to)
	if err != nil {
		return nil, err
	}
	return daysOf(from, to)
}

// askedDay reads one day of the query.
func askedDay(q url.Values, name string, absent time.Time) (time.Time, error) {
	if !q.Has(name) {
		return absent, nil
	}
	day, err := time.Parse(limit.DayForm, q.Get(name))
	if err != nil {
		return day, fmt.Errorf("%s: given %s, allowed a day such as %s", name, brief(q.Get(name)), absent.Format(limit.DayForm))
	}
	return day, nil
}

// daysOf lists the days of a span.
func daysOf(from, to time.Time) ([]int, error) {
	first, last := from.Format(limit.DayForm), to.Format(limit.DayForm)
	days, ok := limit.Days(first, last)
	if !ok {
		return nil, fmt.Errorf("from: given %s, allowed a day from %s to %s", brief(first), to.AddDate(0, 0, 1-limit.LedgerDays).Format(limit.DayForm), last)
	}
	return days, nil
}
