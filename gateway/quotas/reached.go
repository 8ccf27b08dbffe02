package quotas

import (
	"context"

	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Outbox keeps events. It has two forms, in memory and in Redis.
type Outbox interface {
	// Once MUST remember a name, and report whether no replica had it remembered before. With a new name it MUST write the draft, which is
	// the owner's, in the same step; nil: nothing. It MAY forget names after two months.
	Once(ctx context.Context, n event.Name, d *event.Draft) (bool, error)
}

// EventsOutbox is the whole outbox.
type EventsOutbox interface {
	event.Outbox
	Outbox
	// Dropped MUST return how many events this process has dropped because their owner had too many.
	Dropped() int64
}

// AlertsOf returns the alerts of the teams file in force: a team's alert is for its quotas and those inside it, the house's for its own and
// for those of the accounts at the service, which are announced only to operators. known is [feed.Feed.Known].
func AlertsOf(force func() *teams.File, to event.Routes, known func() bool) limit.Alerts {
	return func(account string) (of *teams.Team, percent []int, targets []event.Target, whole bool) {
		file, owner := force(), account
		if file == nil {
			return nil, nil, nil, false
		}
		if of = file.Team(account); of != nil {
			percent = of.Alert
		} else if file.House != nil && teams.IsOutside(account) {
			percent, owner = file.House.Alert, event.Operators
			if account == teams.HouseID {
				of = file.House.Account
			}
		}
		if len(percent) == 0 || to == nil {
			return nil, nil, nil, false
		}
		targets = to(owner, event.QuotaReached, "")
		return of, percent, targets, len(targets) > 0 || known()
	}
}

// announce announces each percentage of a quota that was reached without a charge: the limit was lowered or raised, the alert or the hook
// is new, a hold expired, or the use was corrected. The script of charges announces nothing then, and may refuse all charges that follow.
func (w *Watch) announce(ctx context.Context, account *teams.Team, report *limit.Report) {
	_, percent, to, whole := w.alerts(account.ID)
	if to == nil || !whole {
		return
	}
	w.each(account, percent, report, func(t *limit.Thresholds, s *limit.Standing, percent int) {
		n := event.Name{Owner: account.ID, Name: t.Name(percent), Limit: t.Limit}
		w.once(ctx, n, s.Used >= t.Least(percent), t.Draft(account.ID, percent, s.Used, to))
	})
}

// each calls a function with each percentage of each quota of a report.
func (w *Watch) each(account *teams.Team, percent []int, report *limit.Report,
	do func(t *limit.Thresholds, s *limit.Standing, percent int),
) {
	if w.Outbox == nil {
		return
	}
	date := limit.CalendarOf(report.At)
	for i := range report.Limits {
		s := &report.Limits[i]
		if s.Period == "" || s.Limit <= 0 {
			continue
		}
		t := limit.ThresholdsOf(account, s, &date, percent)
		for _, p := range percent {
			do(&t, s, p)
		}
	}
}

// once reports whether this replica announces a percentage now; is: it is reached. If that fails, the next look tries again.
func (w *Watch) once(ctx context.Context, n event.Name, is bool, d *event.Draft) bool {
	if !w.crosses(&n, is) {
		w.keep(ctx, &n)
		return false
	}
	now, err := w.Outbox.Once(ctx, n, d)
	if err == nil {
		w.note(&n, seen{announced: n.Limit})
	}
	return now && err == nil
}

// keptEvery is after how many looks the outbox is asked again about an announcement: about a minute.
const keptEvery = 6

// keep makes the outbox remember an announcement that it may have lost: otherwise the next replica that starts would repeat it.
func (w *Watch) keep(ctx context.Context, n *event.Name) {
	was := w.reached[n.Owner+" "+n.Name]
	if was.announced == 0 {
		return
	}
	if was.looks++; was.looks%keptEvery == 0 {
		_, _ = w.Outbox.Once(ctx, event.Name{Owner: n.Owner, Name: n.Name, Limit: was.announced}, nil) // a later look tries again
	}
	w.note(n, was)
}

// seen is what a process knows of a percentage of a quota in a period.
type seen struct {
	announced int64 // the limit with which a replica announced it; 0: it is not reached, with this limit or a larger one
	looks     int   // since then
}

// crosses reports whether some replica may have to announce a percentage. One that was not reached at an earlier look may have been
// announced with a smaller limit: it is crossed again.
func (w *Watch) crosses(n *event.Name, is bool) bool {
	was, known := w.reached[n.Owner+" "+n.Name]
	switch {
	case !is && (!known || was.announced < n.Limit):
		w.note(n, seen{})
		return false
	case !is || was.announced > 0:
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
