package quotas

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// Alert is a percentage of a quota of the house that was reached.
type Alert struct {
	limit.Standing
	Money   unit.Money
	Percent int
}

// houseRound looks at the house's quotas, as often as at those of a team, and when the teams file is new.
func (w *Watch) houseRound(ctx context.Context, file *teams.File) {
	due := w.round%rounds == 0 || w.seenOf != file
	w.seenOf, w.round = file, w.round+1
	switch {
	case !due:
	case file.House == nil:
		w.house.Store(nil)
		w.Metrics.House(nil)
	default:
		w.lookAtHouse(ctx, file.House)
	}
}

func (w *Watch) lookAtHouse(ctx context.Context, house *teams.House) {
	report, err := w.Balances.Look(ctx, house.Account)
	if err != nil {
		return // what is shown stays as it was
	}
	w.house.Store(&report)
	w.Metrics.House(usesOf(&report, false))
	w.announce(ctx, house.Account, &report)
	w.warnOf(ctx, house, &report)
}

// warnOf logs and counts each percentage of the house's quotas that is used or held, once a period, however often holds are given back.
func (w *Watch) warnOf(ctx context.Context, house *teams.House, report *limit.Report) {
	w.each(house.Account, house.Alert, report, func(t *limit.Thresholds, s *limit.Standing, percent int) {
		n := event.Name{Owner: event.Operators, Name: t.Name(percent), Limit: t.Limit}
		if w.once(ctx, n, reached(s, percent), nil) {
			w.warn(ctx, Alert{*s, house.Account.Money, percent})
		}
	})
}

// reached reports whether a percentage of a quota is used or held.
func reached(s *limit.Standing, percent int) bool {
	return s.Limit > 0 && (s.Used+s.Held)*100 >= s.Limit*int64(percent) // below 2⁶³, as amounts are below 2⁵³
}

// warn reports an alert of the house in the log and the metrics.
func (w *Watch) warn(ctx context.Context, a Alert) {
	w.Metrics.HouseAlert(telemetry.Passed{Unit: string(a.Unit), Period: string(a.Period), Percent: a.Percent})
	w.Logger.LogAttrs(ctx, slog.LevelWarn, fmt.Sprintf("all teams together have taken %d %% of the house's quota %s", a.Percent, a.Name()),
		slog.String("unit", string(a.Unit)), slog.String("period", string(a.Period)), slog.Int("percent", a.Percent),
		slog.String("used", a.Money.Written(a.Unit, a.Used)), slog.String("held", a.Money.Written(a.Unit, a.Held)),
		slog.String("limit", a.Money.Written(a.Unit, a.Limit)))
}

// mostSeen bounds the alerts that a process remembers, some 5 MB. Beyond it the process forgets all, and asks the outbox again.
const mostSeen = 30_000

// House says how full the house is, as last seen: "spend-day 3120.5 of 4000 (78 %)", one after another; "none" without a house.
func (w *Watch) House() string {
	file := w.Teams()
	if file.House == nil {
		return "none"
	}
	report := w.house.Load()
	if report == nil {
		return "not known yet"
	}
	var all []string
	for i := range report.Limits {
		s := &report.Limits[i]
		text := s.Name() + " " + file.Money.Written(s.Unit, s.Used+s.Held) + " of " + file.Money.Written(s.Unit, s.Limit)
		if s.Limit > 0 {
			text += " (" + strconv.FormatInt((s.Used+s.Held)*100/s.Limit, 10) + " %)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
