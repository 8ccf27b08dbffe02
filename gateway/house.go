package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// HouseAlert is a per cent of a quota of the house that was passed.
type HouseAlert struct {
	limit.Standing
	Percent int
}

// houseWatch shows how full the house is, and reports each per cent of its quotas that is passed, once a period over all replicas. One
// goroutine uses it.
type houseWatch struct {
	live     *live
	accounts Accounts
	metrics  *telemetry.Metrics
	logger   *slog.Logger
	passed   func(HouseAlert) // may be nil
	file     *teams.File      // that the last look was about
	told     map[string]bool  // alerts that were reported by some replica
	rounds   int
}

// round looks at the house's quotas, as often as at those of a team, and when the teams file is new.
func (w *houseWatch) round(ctx context.Context) {
	file := w.live.teams.Load()
	due := w.rounds%quotaRounds == 0 || w.file != file
	w.file, w.rounds = file, w.rounds+1
	switch {
	case !due:
	case file.House == nil:
		w.live.house.Store(nil)
		w.metrics.House(nil)
	default:
		w.look(ctx, file.House)
	}
}

func (w *houseWatch) look(ctx context.Context, house *teams.House) {
	report, err := w.accounts.Look(ctx, house.Account)
	if err != nil {
		return // what is shown stays as it was
	}
	w.live.house.Store(&report)
	w.metrics.House(quotaUses(&report))
	date := limit.CalendarOf(report.At)
	for i := range report.Limits {
		s := &report.Limits[i]
		for _, percent := range house.Alert {
			if reached(s, percent) {
				w.report(ctx, HouseAlert{*s, percent}, &date)
			}
		}
	}
}

// reached reports whether a per cent of a quota is used or held.
func reached(s *limit.Standing, percent int) bool {
	return s.Limit > 0 && (s.Used+s.Held)*100 >= s.Limit*int64(percent) // below 2⁶³, as amounts are below 2⁵³
}

// report reports an alert unless some replica has.
func (w *houseWatch) report(ctx context.Context, a HouseAlert, date *limit.Calendar) {
	period := date.Day
	if a.Period == teams.PeriodMonth {
		period = date.Month
	}
	name := fmt.Sprintf("%d:%s:%d", period, a.Unit, a.Percent)
	if w.told[name] {
		return
	}
	first, err := w.accounts.First(ctx, teams.HouseID, name)
	if err != nil {
		return // the next look tries again
	}
	if w.told == nil || len(w.told) > mostTold {
		w.told = map[string]bool{}
	}
	if w.told[name] = true; !first {
		return
	}
	w.metrics.HouseAlert(string(a.Unit), string(a.Period), a.Percent)
	w.logger.LogAttrs(ctx, slog.LevelWarn, fmt.Sprintf("all teams together have taken %d %% of the house's quota %s", a.Percent, a.Name()),
		slog.String("unit", string(a.Unit)), slog.String("period", string(a.Period)), slog.Int("percent", a.Percent),
		slog.String("used", limit.Written(a.Unit, a.Used)), slog.String("held", limit.Written(a.Unit, a.Held)), slog.String("limit", limit.Written(a.Unit, a.Limit)))
	if w.passed != nil {
		w.passed(a)
	}
}

// mostTold bounds the alerts that a process remembers: a year has fewer periods with a thousand.
const mostTold = 10_000

// House says how full the house is, as last seen: "spend-day 3120.5 of 4000 (78 %)", one after another; "none" without a house.
func (g *Gateway) House() string {
	if g.live.teams.Load().House == nil {
		return "none"
	}
	report := g.live.house.Load()
	if report == nil {
		return "not known yet"
	}
	var all []string
	for i := range report.Limits {
		s := &report.Limits[i]
		text := s.Name() + " " + limit.Written(s.Unit, s.Used+s.Held) + " of " + limit.Written(s.Unit, s.Limit)
		if s.Limit > 0 {
			text += " (" + strconv.FormatInt((s.Used+s.Held)*100/s.Limit, 10) + " %)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// houseNow is how full the house was when it was last looked at; nil: not known, or there is none.
type houseNow = atomic.Pointer[limit.Report]
