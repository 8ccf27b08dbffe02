package quotas

import (
	"context"

	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
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

// AlertsOf are those of the teams file in force: alert of a team for its quotas and those inside it, alert of the house for its own and for
// those of the accounts at the service, which are announced only to operators. known is [feed.Feed.Known].
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

// tell announces each per cent of a quota that is used without a charge that passed it: its limit was lowered or raised, its alert or the
// hook is new, a hold expired, or the use was corrected. Then the script of charges has nothing to tell, and perhaps refuses all that
// follow.
func (w *Watch) tell(ctx context.Context, account *teams.Team, report *limit.Report) {
	_, percent, to, whole := w.alerts(account.ID)
	if to == nil || !whole {
		return
	}
	w.each(account, percent, report, func(t *limit.Thresholds, s *limit.Standing, percent int) {
		n := event.Name{Owner: account.ID, Name: t.Name(percent), Limit: t.Limit}
		w.once(ctx, n, s.Used >= t.Least(percent), t.Draft(account.ID, percent, s.Used, to))
	})
}

// each calls a function with each per cent of each quota of a report.
func (w *Watch) each(account *teams.Team, percent []int, report *limit.Report, do func(t *limit.Thresholds, s *limit.Standing, percent int)) {
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

// once reports whether something that is so is announced now, by this replica. The next look tries again what fails.
func (w *Watch) once(ctx context.Context, n event.Name, is bool, d *event.Draft) bool {
	if !w.crosses(&n, is) {
		w.keep(ctx, &n)
		return false
	}
	now, err := w.Outbox.Once(ctx, n, d)
	if err == nil {
		w.note(&n, seen{told: n.Limit})
	}
	return now && err == nil
}

// keptEvery is at which look the outbox is asked again for what was announced: about a minute.
const keptEvery = 6

// keep has the outbox remember what was announced, if it has lost its memory: else the next replica that starts would announce it again.
func (w *Watch) keep(ctx context.Context, n *event.Name) {
	was := w.reached[n.Owner+" "+n.Name]
	if was.told == 0 {
		return
	}
	if was.looks++; was.looks%keptEvery == 0 {
		_, _ = w.Outbox.Once(ctx, event.Name{Owner: n.Owner, Name: n.Name, Limit: was.told}, nil) // the next look but some tries again
	}
	w.note(n, was)
}

// seen is what a process knows of a per cent of a quota in a period: the limit with which some replica has announced that it was reached.
// 0: it was seen below it, with no limit or a larger one than it was announced with.
type seen struct {
	told  int64
	looks int // since then
}

// crosses reports whether some replica may have to announce that a per cent is reached. If it was seen below that, it may have been
// announced with a smaller limit: then it is crossed again.
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
