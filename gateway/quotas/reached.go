package quotas

import (
	"context"
	"encoding/json"
	"fmt"

	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Outbox keeps events. It has two forms, in memory and in Redis.
type Outbox interface {
	// Once MUST remember a name, unless it does, and report whether it did so now, among all replicas. A draft, which is the owner's, MUST
	// be written in the same step; nil: nothing is. It MAY forget names after two months.
	Once(ctx context.Context, n event.Name, d *event.Draft) (bool, error)
}

// EventsOutbox is the whole outbox.
type EventsOutbox interface {
	event.Outbox
	Outbox
	// Dropped MUST return how many events this process has dropped because their owner had too many.
	Dropped() int64
}

// reachedData is the data of the event [event.QuotaReached]. Spend is in the currency.
type reachedData struct {
	Scope     string       `json:"scope"` // team or house
	Unit      teams.Unit   `json:"unit"`
	Period    teams.Period `json:"period"`
	Threshold int          `json:"threshold"` // per cent of limit
	Used      json.Number  `json:"used"`      // with what is held
	Left      json.Number  `json:"left"`
	Limit     json.Number  `json:"limit"`
}

// tell reports each per cent of a quota that is used or held: once a period, however often holds are given back, and again if the quota was
// raised above that. It writes an event if somebody wants one, and calls first, which may be nil, in one of all replicas.
func (w *Watch) tell(ctx context.Context, owner, scope string, money unit.Money, alert []int, report *limit.Report, first func(Alert)) {
	if len(alert) == 0 || w.Outbox == nil {
		return
	}
	var to []event.Target
	if w.To != nil {
		to = w.To(owner, event.QuotaReached, "")
	}
	if to == nil && first == nil {
		return
	}
	date := limit.CalendarOf(report.At)
	for i := range report.Limits {
		s := &report.Limits[i]
		for _, percent := range alert {
			n := event.Name{Owner: owner, Name: fmt.Sprintf("reached:%s:%d:%s:%d", scope, periodOf(s, &date), s.Unit, percent), Limit: s.Limit}
			if s.Period == "" || !w.crosses(&n, reached(s, percent)) {
				continue
			}
			now, err := w.Outbox.Once(ctx, n, draftOf(owner, scope, Alert{*s, money, percent}, to))
			if err != nil {
				continue // the next look tries again
			}
			if w.note(&n, seen{n.Limit}); now && first != nil {
				first(Alert{*s, money, percent})
			}
		}
	}
}

// seen is what a process knows of a per cent of a quota in a period: the limit with which some replica has told that it was reached.
// 0: it was seen below it, with no limit or a larger one than it was told with.
type seen struct{ told int64 }

// crosses reports whether some replica may have to tell that a per cent is reached. If it was seen below that, it may have been told with a
// smaller limit: then it is crossed again.
func (w *Watch) crosses(n *event.Name, is bool) bool {
	was, known := w.reached[n.Owner+" "+n.Name]
	switch {
	case !is && (!known || was.told < n.Limit):
		w.note(n, seen{})
		return false
	case !is || was.told > 0:
		return false
	}
	n.Again = known
	return true
}

// note remembers what was seen, within bounds.
func (w *Watch) note(n *event.Name, s seen) {
	if w.reached == nil || len(w.reached) > mostSeen {
		w.reached = map[string]seen{}
	}
	w.reached[n.Owner+" "+n.Name] = s
}

// draftOf is the event of an alert; nil: nobody wants it.
func draftOf(owner, scope string, a Alert, to []event.Target) *event.Draft {
	if to == nil {
		return nil
	}
	number := func(n int64) json.Number { return json.Number(a.Money.Written(a.Unit, n)) }
	used := a.Used + a.Held
	data, _ := json.Marshal(reachedData{ // words and numbers
		Scope: scope, Unit: a.Unit, Period: a.Period, Threshold: a.Percent, Used: number(used), Left: number(max(a.Limit-used, 0)), Limit: number(a.Limit),
	})
	return &event.Draft{Type: event.QuotaReached, Team: owner, Data: data, To: to}
}

// periodOf is the day or month of a quota.
func periodOf(s *limit.Standing, date *limit.Calendar) int {
	if s.Period == teams.PeriodMonth {
		return date.Month
	}
	return date.Day
}
