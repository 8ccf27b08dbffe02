package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy/limit"
)

const (
	// ledgerPatience bounds the wait for the turn to read a ledger, and then the reading.
	ledgerPatience = 2 * time.Second
	// ledgerRows is how many rows, one for each day, model and endpoint, a report may have. A single day has fewer.
	ledgerRows = 5000
)

// ledger reads the part of the team's ledger that the query names: ?days=30, or ?from= and ?to=. It is nil if the query
// names no days. This process reads one ledger at a time, and a team may have one report at a time, until done is called: a
// report costs the team nothing, but it costs time and memory.
func (u *usage) ledger(ctx context.Context, team, query string, now time.Time) (entries []limit.Entry, done func(), err error) {
	done = func() {}
	days, err := readDays(query, now)
	if err != nil {
		return nil, done, refuse(refuseRules).say("%s", err.Error())
	}
	if days == nil {
		return nil, done, nil
	}
	rows, done, err := u.readLedger(ctx, team, days)
	switch {
	case errors.Is(err, limit.ErrRows):
		return nil, done, refuse(refuseRules).say("days: given %d with more than %d rows of a day, a model and an endpoint, allowed %[2]d: ask for fewer days", len(days), ledgerRows)
	case err != nil:
		return nil, done, refuse(refuseState).say("The ledger of team %s cannot be read at the moment; send the request again.", team).because(err).retry(time.Second)
	}
	entries = []limit.Entry{}
	for i := range rows {
		entries = append(entries, rows[i].Entries()...)
	}
	return entries, done, nil
}

// readLedger reads rows of a ledger in the team's turn.
func (u *usage) readLedger(ctx context.Context, team string, days []int) (rows []limit.Row, done func(), err error) {
	done, err = u.inTurn(ctx, team, func(ctx context.Context) (err error) {
		rows, err = u.accounts.Rows(ctx, limit.Query{Teams: []string{team}, Days: days, Most: ledgerRows})
		return err
	})
	return rows, done, err
}

// inTurn waits until the team has no other report and this process reads no other ledger, and reads one.
func (u *usage) inTurn(ctx context.Context, team string, read func(context.Context) error) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	done, err = turn(waiting, u.slots.of(team).reading)
	if err != nil {
		return done, err
	}
	ended, err := turn(waiting, u.reading)
	if err != nil {
		return done, err
	}
	defer ended()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), ledgerPatience)
	defer cancel()
	return done, read(ctx)
}

// turn waits for room. The caller MUST call done, which makes room again.
func turn(ctx context.Context, room chan struct{}) (done func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// dayNames are the parameters of usage that name days.
var dayNames = []string{"days", "from", "to"}

// readDays returns the days that the query of usage names, as the ledger numbers them; nil if it names none. The default of to
// is today, and that of from is to.
func readDays(query string, now time.Time) ([]int, error) {
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
		if err != nil || n < 1 || n > limit.LedgerDays {
			return nil, fmt.Errorf("days: given %s, allowed a whole number from 1 to %d", brief(q.Get("days")), limit.LedgerDays)
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

// readQuery reads the parameters that name days, part by part, and drops all others, also malformed ones.
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
				return nil, fmt.Errorf("%s: given %s, allowed name=value, escaped", name, brief(part))
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
	day, err := time.Parse(limit.DayForm, q.Get(name))
	if err != nil {
		return day, fmt.Errorf("%s: given %s, allowed a day such as %s", name, brief(q.Get(name)), absent.Format(limit.DayForm))
	}
	return day, nil
}

// daysOf lists the days from one to another.
func daysOf(from, to time.Time) ([]int, error) {
	first, last := from.Format(limit.DayForm), to.Format(limit.DayForm)
	days, ok := limit.Days(first, last)
	if !ok {
		return nil, fmt.Errorf("from: given %s, allowed a day from %s to %s", brief(first), to.AddDate(0, 0, 1-limit.LedgerDays).Format(limit.DayForm), last)
	}
	return days, nil
}
