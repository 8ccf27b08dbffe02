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
	// Once MUST write an event and remember its name for its owner, in one step, unless it remembers that, and report whether it did,
	// among all replicas. It MAY forget names after two months.
	Once(ctx context.Context, name string, d *event.Draft) (bool, error)
	// Forget MUST have the next event of this name be the first again.
	Forget(ctx context.Context, owner, name string) error
}

// EventsOutbox is the whole outbox.
type EventsOutbox interface {
	event.Outbox
	Outbox
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

// tell writes an event for each per cent of a quota that is used or held: once a period, and again if the quota was raised above that.
func (w *Watch) tell(ctx context.Context, owner, scope string, money unit.Money, alert []int, report *limit.Report) {
	if len(alert) == 0 || w.To == nil || w.Outbox == nil {
		return
	}
	to := w.To(owner, event.QuotaReached, "")
	if len(to) == 0 {
		return
	}
	date := limit.CalendarOf(report.At)
	for i := range report.Limits {
		s := &report.Limits[i]
		for _, percent := range alert {
			name := fmt.Sprintf("reached:%s:%d:%s:%d", scope, periodOf(s, &date), s.Unit, percent)
			known := w.reached[owner+" "+name]
			switch is := s.Period != "" && reached(s, percent); {
			case is == known:
			case known:
				if w.Outbox.Forget(ctx, owner, name) == nil { // else the next look tries again
					delete(w.reached, owner+" "+name)
				}
			default:
				data, _ := json.Marshal(dataOf(s, scope, money, percent)) // words and numbers
				if _, err := w.Outbox.Once(ctx, name, &event.Draft{Type: event.QuotaReached, Team: owner, Data: data, To: to}); err == nil {
					w.note(owner + " " + name)
				}
			}
		}
	}
}

// note remembers what some replica has told, within bounds.
func (w *Watch) note(name string) {
	if w.reached == nil || len(w.reached) > mostTold {
		w.reached = map[string]bool{}
	}
	w.reached[name] = true
}

func dataOf(s *limit.Standing, scope string, money unit.Money, percent int) reachedData {
	number := func(n int64) json.Number { return json.Number(money.Written(s.Unit, n)) }
	used := s.Used + s.Held
	return reachedData{Scope: scope, Unit: s.Unit, Period: s.Period, Threshold: percent, Used: number(used), Left: number(max(s.Limit-used, 0)), Limit: number(s.Limit)}
}

// periodOf is the day or month of a quota.
func periodOf(s *limit.Standing, date *limit.Calendar) int {
	if s.Period == teams.PeriodMonth {
		return date.Month
	}
	return date.Day
}
