package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// counted is the part of a request that certainly counts against limits: no more than its hold, because an estimate may be
// too small and the rest becomes debt.
func (q *request) counted() limit.Amounts {
	if q.settled {
		return leastOf(q.used, q.amounts)
	}
	return q.amounts
}

// charged is the expected charge of a request: its use, or its hold if its use is never reported.
func (q *request) charged() limit.Amounts {
	if q.settled {
		return q.used
	}
	return q.amounts
}

// in reports whether a request belongs to the same period of a quota as another.
func (q *request) in(quota int, other *request) bool {
	if q.team != other.team {
		return false
	}
	if quota%2 == 1 {
		return q.held.Month == other.held.Month
	}
	return q.held.Day == other.held.Day
}

// withinLimits checks the admitted requests, with this one, against every limit that it counts in.
func (w *world) withinLimits(by *request) {
	t := w.limits(by.team)
	for quota, most := range t.Quotas {
		u := quota / 2
		if most == limit.None || by.amounts[u] == 0 {
			continue
		}
		sum, forgiven := int64(0), int64(0)
		for _, q := range w.requests {
			if q.in(quota, by) {
				sum += q.counted()[u]
				if q.forgiven || q.unheard(u) {
					forgiven += q.counted()[u]
				}
			}
		}
		if sum > most+forgiven {
			w.fail("limits: %s admitted %d %s of one %s for %s, the most is %d%s", by.by.name, sum, unit.Names[u], teams.Periods[quota%2],
				worldTeams[by.team], most, w.unknown(forgiven))
		}
	}
	if by.task && t.Tasks != limit.None {
		open, forgiven := w.openTasks(by.team)
		if open > t.Tasks+forgiven {
			w.fail("limits: %s admitted task %d of %s, the limit is %d%s", by.by.name, open, worldTeams[by.team], t.Tasks, w.unknown(forgiven))
		}
	}
}

// outside are the scopes outside of the team that a request counts in: its account's at the service, and the house's.
func (w *world) outside(k *kind) []limit.Scope {
	if k.account == "" || w.house == nil {
		return w.house
	}
	return append(new(limit.Outsides).For(&teams.File{}, worldEast, k.model), w.house...)
}

// other is the request's hold in an account outside of its team; nil: it has none.
func (q *request) other(id string) *limit.Held {
	if i := slices.IndexFunc(q.held.Outer, func(h *limit.Held) bool { return h.Team == id }); i >= 0 {
		return q.held.Outer[i]
	}
	return nil
}

// withinOutside checks the admitted requests of all teams, with this one, against the quotas of its account at the service and of the
// house.
func (w *world) withinOutside(by *request) {
	for _, scope := range w.outside(&by.kind) {
		id := scope.Document.ID
		own := by.other(id)
		for quota, most := range scope.Quotas {
			u, sum, forgiven := quota/2, int64(0), int64(0)
			if most == limit.None || by.amounts[u] == 0 {
				continue
			}
			for _, q := range w.requests {
				of := q.other(id)
				if of != nil && (quota%2 == 1 && of.Month == own.Month || of.Day == own.Day) {
					sum += q.counted()[u]
					if q.forgiven {
						forgiven += q.counted()[u]
					}
				}
			}
			if sum > most+forgiven {
				w.fail("%s: %s admitted %d %s of one %s for all teams, the most is %d%s", id, by.by.name, sum, unit.Names[u], teams.Periods[quota%2],
					most, w.unknown(forgiven))
			}
		}
	}
}

// outsideAddsUp checks that the house used what all teams used, and the account at the service what the ledgers say of it. A replica that
// died may have been charged more for one of its allowances than for the others.
func (w *world) outsideAddsUp() {
	if w.house == nil || w.ever || slices.ContainsFunc(w.former, func(r *replica) bool { return r.lost }) {
		return
	}
	var all, east limit.Amounts
	for team, name := range worldTeams {
		all = all.Plus(w.usedBy(name))
		_, rows, _ := w.ledgerOf(team)
		for row, sum := range rows {
			if strings.HasSuffix(row, limit.AccountMark(worldEast.ID)) {
				east = east.Plus(sum.exact).Plus(sum.estimated)
			}
		}
	}
	if house := w.usedBy(teams.HouseID); house != all {
		w.fail("house: it used %v, all teams together used %v", house, all)
	}
	if used := w.usedBy(worldEast.Quotas.ID); used != east {
		w.fail("account: %s used %v, the ledgers say %v", worldEast.ID, used, east)
	}
}

// usedBy is what an account used in all months.
func (w *world) usedBy(account string) (all limit.Amounts) {
	fields, _ := w.server.HKeys("sl1:{" + account + "}:quota")
	for _, field := range fields {
		var month int
		var u string
		if n, _ := fmt.Sscanf(strings.ReplaceAll(field, ":", " "), "%6d %s used", &month, &u); n == 2 && strings.HasSuffix(field, ":used") {
			all[unit.Index(unit.Name(u))] += w.count(account, field)
		}
	}
	return all
}

// unheard reports whether Redis cannot know a unit of the request: a replica admitted it without Redis, by limits without that
// unit, so nothing was set aside for it, and died before it reported the use.
func (q *request) unheard(u int) bool { return q.by.lost && !q.told && q.aside[u] == 0 }

// openTasks counts the tasks of a team that are certainly open: those whose lease cannot have ended.
func (w *world) openTasks(team int) (open, forgiven int64) {
	for _, q := range w.requests {
		if q.task && q.team == team && !q.settled && time.Until(q.due) > 0 {
			open++
			if q.forgiven {
				forgiven++
			}
		}
	}
	return open, forgiven
}

func (w *world) unknown(forgiven int64) string {
	if len(w.losses) == 0 && forgiven == 0 {
		return ""
	}
	return " and " + unit.Nanos.Written(unit.NameRequests, forgiven) + " that nobody knows of since Redis forgot"
}

// refusedRightly checks a refusal in calm times against the amounts left: a single replica refuses only requests that do
// not fit; one of several may lack the amounts set aside for the others.
func (w *world) refusedRightly(k kind, v limit.Verdict) {
	if !w.calm || v.Reason != limit.ReasonQuota {
		return
	}
	today := limit.CalendarOf(time.Now())
	probe := &request{kind: k, held: &limit.Held{Day: today.Day, Month: today.Month}}
	if w.partsLack(probe) {
		return
	}
	t := w.limits(k.team)
	for quota, most := range t.Quotas {
		u := quota / 2
		if most == limit.None || k.amounts[u] == 0 {
			continue
		}
		sum := k.amounts[u]
		for _, q := range w.requests {
			if q.in(quota, probe) {
				sum += q.atMost()[u]
			}
		}
		if room := most; sum > room || len(w.replicas) > 1 && sum > room-room/10 {
			return
		}
	}
	w.fail("calm: refused for %s, although it fits", v.Fault.Name())
}

// nearMidnight is how close to midnight a request may count for either day.
const nearMidnight = 2 * time.Second

// dayIsRight checks that a request belongs to the day of Redis's clock.
func (w *world) dayIsRight(q *request) {
	before, after := limit.CalendarOf(q.at.Add(-nearMidnight)), limit.CalendarOf(time.Now().Add(nearMidnight))
	if q.held.Day < before.Day || q.held.Day > after.Day || q.held.Month != q.held.Day/100 {
		w.fail("days: a request of %s belongs to %d (%d) by Redis's clock, and was admitted on %d (%d)", q.by.name, before.Day, before.Month,
			q.held.Day, q.held.Month)
	}
}

// loss is a moment at which Redis lost its memory, or went back to an earlier one.
type loss struct{ at, memory time.Time }

const (
	lossOf    = 2 * time.Second // requests admitted just before may be forgotten if no replica reports them
	settlesIn = 6 * time.Second // until every replica that reaches Redis has reported
)

// forget empties Redis.
func (w *world) forget() {
	w.server.FlushAll()
	w.saved = nil // an older dump would be of another memory
	w.lose(time.Now())
}

// rollBack restarts Redis with the saved data.
func (w *world) rollBack() {
	if w.saved == nil {
		return
	}
	run := w.runs.Add(1)
	w.saved.restore(w.server)
	w.flushScripts()
	for _, r := range w.crew(everywhere) { // their connections are closed
		r.wire.reconnect(func(ctx context.Context) error { return r.shared.Connected(ctx, fmt.Sprint(run)) })
		if r.wire.now() == works && run%2 == 0 {
			r.wire.set(isRefused, 1)
		}
	}
	w.lose(w.saved.at)
}

// lose excuses requests admitted just before a loss, and data that only replicas know that do not reach Redis now.
func (w *world) lose(memory time.Time) {
	w.calm = false
	l := loss{at: time.Now(), memory: memory}
	w.losses = append(w.losses, l)
	w.ever = true
	for _, q := range w.requests {
		r := q.by
		reaches := !r.lost && r.wire.reaches()
		if slices.Contains(w.former, r) || !reaches || l.at.Sub(q.at) <= lossOf {
			q.forgiven = true
		}
	}
}

// cutOff excuses the data of a replica that does not reach Redis soon after a loss.
func (w *world) cutOff(r *replica) {
	for _, l := range w.losses {
		for _, q := range w.requests {
			if q.by == r && q.at.Before(l.at) && time.Since(l.at) < settlesIn {
				q.forgiven = true
			}
		}
	}
}
