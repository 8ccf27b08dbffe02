package redisstore

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// tags reads the ledger of tags of the clock's day.
func (f *form) tags() (rows []limit.Row) {
	f.Helper()
	days := []int{limit.CalendarOf(f.clock.Now()).Day}
	var err error
	if f.memory != nil {
		rows, err = f.memory.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: days, By: limit.ScopeTag})
	} else {
		rows, err = f.redis.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: days, By: limit.ScopeTag})
	}
	if err != nil {
		f.Fatal(err)
	}
	return rows
}

// A day keeps a thousand tags apart; what the others use is in one row, and none of it is lost.
func TestADayHasAThousandTags(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f)
		one := limit.Amounts{limit.Requests: 1, limit.Tokens: 2}
		for n := range 1003 {
			h := hold(id(n), team, one)
			h.Tag = fmt.Sprintf("t%d", n)
			f.admit(h)
			f.settle(f.held(h), team, one, false)
		}
		again := hold("again", team, one) // a known tag stays itself
		again.Tag = "t0"
		f.admit(again)
		f.settle(f.held(again), team, one, false)
		var sum limit.Amounts
		by := map[string]limit.Amounts{}
		for _, row := range f.tags() {
			sum, by[row.Tag] = sum.Plus(row.Used), row.Used
		}
		if all := (limit.Amounts{limit.Requests: 1004, limit.Tokens: 2008}); sum != all || by["t0"][limit.Requests] != 2 ||
			by["other"][limit.Requests] < 3 || len(by) > 1001 {
			f.Errorf("%d tags, %v in all, t0 %v, other %v", len(by), sum, by["t0"], by["other"])
		}
	})
}

// A hold whose lease ends is charged to its tag as an estimate, until its true use is known. The model's name may look like a
// tag.
func TestAnExpiredHoldHasItsTag(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f)
		h := hold("late", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
		h.Model, h.Tag, h.Lease = "odd#model|text#x", "alpha", time.Second
		f.admit(h)
		held := f.held(h)
		f.clock.Move(time.Minute)
		f.look(team) // sweeps
		want := limit.Row{Team: "search", Day: 20261121, Tag: "alpha", Used: h.Amounts, Estimated: h.Amounts}
		if rows := f.tags(); len(rows) != 1 || rows[0] != want {
			f.Errorf("expired: %+v, want %+v", rows, want)
		}
		want.Used[limit.Tokens], want.Estimated = 7, limit.Amounts{}
		f.settle(held, team, want.Used, false)
		if rows := f.tags(); len(rows) != 1 || rows[0] != want {
			f.Errorf("settled: %+v, want %+v", rows, want)
		}
		for _, row := range f.rows() {
			if row.Tag == "" && row.Model != h.Model {
				f.Errorf("the ledger has %+v, want the model %s", row, h.Model)
			}
		}
	})
}
