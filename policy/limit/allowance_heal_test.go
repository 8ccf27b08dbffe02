package limit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy"
)

// heal brings everything back, ends what is open, and holds the accounts against the world.
func (w *world) heal() {
	w.say("all is well again")
	for _, r := range w.crew(everywhere) {
		r.wire.set(works, 0)
	}
	w.arrive("")
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 11 * time.Second} {
		w.pass(d)
	}
	first := w.crew(everywhere)[0]
	for _, q := range w.requests {
		switch {
		case q.settled:
		case !w.isFormer(q.by):
			w.charge(q.by, q, q.amounts, false)
		case q.task: // its end is heard by another
			w.charge(first, q, q.amounts, false)
		}
	}
	for _, d := range []time.Duration{time.Second, 11 * time.Second} {
		w.pass(d)
	}
	w.heldAddsUp()
	for _, r := range w.crew(everywhere) {
		if r.shared.Degraded() {
			w.fail("healed: %s is still without Redis: %v", r.name, r.shared.State())
		}
	}
	w.stopAll()
	w.nothingIsLeft()
	w.everybodyIsTold()
	for team := range worldTeams {
		w.balance(team)
	}
}

// stopAll stops the replicas, and has a last one look after what may be left.
func (w *world) stopAll() {
	for i, r := range w.replicas {
		if err := r.shared.Close(context.Background()); err != nil {
			w.fail("healed: %s stops: %v", r.name, err)
		}
		_ = r.client.Close()
		w.former = append(w.former, r)
		w.replicas[i] = nil
	}
	time.Sleep(2 * time.Hour) // every lease ends
	w.launch(0)
	w.pass(4 * time.Second)
	w.pass(time.Minute)
	if err := w.replicas[0].shared.Close(context.Background()); err != nil {
		w.fail("healed: the last one stops: %v", err)
	}
}

// nothingIsLeft checks that no hold and no allowance outlives all replicas and leases.
func (w *world) nothingIsLeft() {
	w.heldAddsUp()
	for _, team := range worldTeams {
		if open := w.openHolds(team); len(open) > 0 {
			w.fail("left: %s has %d open holds for ever: %+v", team, len(open), open)
		}
		if n := w.count(team, "tasks"); n != 0 {
			w.fail("left: %s has %d open tasks for ever", team, n)
		}
	}
}

// everybodyIsTold checks that whoever settled something at a replica that lives was told once that it is taken.
func (w *world) everybodyIsTold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.requests {
		if q.settled && !q.through.lost && q.taken != 1 {
			w.fail("told: the settlement of a request of %s on %d was told %d times to be taken", q.by.name, q.held.Day, q.taken)
		}
	}
}

// balance is what of a team's ledger the world accounts for, by unit.
type balance struct{ exact, estimated Amounts }

// ledgerOf adds up the ledger of a team.
func (w *world) ledgerOf(team int) (all balance, rows map[string]balance, months map[int]Amounts) {
	rows, months = map[string]balance{}, map[int]Amounts{}
	days := map[int]bool{}
	for d := starts[w.story.start]; d.Before(time.Now().AddDate(0, 0, 1)); d = d.AddDate(0, 0, 1) {
		days[calendarOf(d).day] = true
	}
	accounts := NewRedis(w.admin)
	for day := range days {
		list, err := accounts.Ledger(context.Background(), worldTeams[team], []int{day})
		if err != nil {
			w.fail("the ledger: %v", err)
		}
		for _, row := range list {
			exact := row.Used.minus(row.Estimated)
			months[day/100] = months[day/100].plus(row.Used)
			all.exact, all.estimated = all.exact.plus(exact), all.estimated.plus(row.Estimated)
			name := w.rowName(row.Day, ledgerName(row.Model, row.Endpoint))
			rows[name] = balance{rows[name].exact.plus(exact), rows[name].estimated.plus(row.Estimated)}
		}
	}
	return all, rows, months
}

// rowName names an entry of the ledger, with its day where that is certain.
func (w *world) rowName(day int, what string) string {
	if w.blurred {
		return what
	}
	return fmt.Sprint(day, " ", what)
}

// balance holds the ledger of a team against what upstream did.
func (w *world) balance(team int) {
	all, rows, months := w.ledgerOf(team)
	if !w.ever {
		w.usedAddsUp(team, months)
	}
	var sure, maybe, fears, allowed balance // of replicas that live, of those that died; allowances
	want := map[string]balance{}
	died := false
	for _, q := range w.requests {
		if q.team != team {
			continue
		}
		one, name := q.balance(), w.rowName(q.held.Day, q.held.what())
		if q.by.lost || q.through != nil && q.through.lost {
			died = true
			maybe.exact, maybe.estimated = maybe.exact.plus(one.exact), maybe.estimated.plus(q.atMost())
			if !w.ever && w.isKept(q) {
				fears.estimated = fears.estimated.plus(q.counted())
			}
			continue
		}
		sure.exact, sure.estimated = sure.exact.plus(one.exact), sure.estimated.plus(one.estimated)
		row := want[name]
		want[name] = balance{row.exact.plus(one.exact), row.estimated.plus(one.estimated)}
	}
	for _, q := range w.refused {
		if q.team == team && q.by.lost {
			died = true
			maybe.estimated = maybe.estimated.plus(q.amounts)
		}
	}
	if died {
		for id, amounts := range w.allowances {
			if strings.HasPrefix(id, "allow-") {
				allowed.estimated = allowed.estimated.plus(amounts)
			}
		}
	}
	for unit, name := range policy.Units {
		total := all.exact[unit] + all.estimated[unit]
		switch exact, most := all.exact[unit], sure.exact[unit]+maybe.exact[unit]; {
		case w.ever:
			if least := w.mustBeKnown(team)[unit]; total < least {
				w.fail("ledger: %s has %d %s, upstream did %d that some replica knew", worldTeams[team], total, name, least)
			}
		case exact < sure.exact[unit] || exact > most:
			w.fail("ledger: %s has %d %s for certain, upstream did between %d and %d", worldTeams[team], exact, name, sure.exact[unit], most)
		case total < sure.exact[unit]+sure.estimated[unit]+fears.estimated[unit]:
			w.fail("ledger: %s has %d %s, upstream did %d and Redis knew %d more of replicas that died", worldTeams[team], total, name,
				sure.exact[unit]+sure.estimated[unit], fears.estimated[unit])
		case total > sure.exact[unit]+sure.estimated[unit]+maybe.estimated[unit]+allowed.estimated[unit]:
			w.fail("ledger: %s has %d %s, upstream did %d and at most %d more at replicas that died", worldTeams[team], total, name,
				sure.exact[unit]+sure.estimated[unit], maybe.estimated[unit])
		}
	}
	if !died && !w.ever {
		w.sameRows(team, rows, want)
	}
}

// sameRows checks each entry of the ledger, by day, model and endpoint.
func (w *world) sameRows(team int, got, want map[string]balance) {
	for _, name := range slices.Concat(keysIn(got), keysIn(want)) {
		if got[name] != want[name] {
			w.fail("ledger: %s has %+v of %s, upstream did %+v", worldTeams[team], got[name], name, want[name])
		}
	}
}

func keysIn(m map[string]balance) (list []string) {
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// balance is what the ledger is to have of a request.
func (q *request) balance() balance {
	if q.settled && !q.guess {
		return balance{exact: q.used}
	}
	return balance{estimated: q.charged()}
}

// atMost is what a request may count for, whether its settlement has arrived or not.
func (q *request) atMost() Amounts {
	if q.settled {
		return q.used.most(q.amounts)
	}
	return q.amounts
}

// isKept reports whether a request of a replica that died is in the ledger for certain: Redis was told of it, or was away
// for all when it was admitted, so that the replica's allowance is charged.
func (w *world) isKept(q *request) bool {
	if q.told {
		return true
	}
	for _, g := range w.gaps {
		if q.at.After(g.from) && q.at.Before(g.to) {
			return true
		}
	}
	return false
}

// mustBeKnown is what the ledger has to have of a team although Redis lost its memory.
func (w *world) mustBeKnown(team int) (sum Amounts) {
	for _, q := range w.requests {
		if q.team == team && !q.forgiven && !q.by.lost && !w.isKilled(q) {
			sum = sum.plus(q.charged())
		}
	}
	return sum
}

func (w *world) isKilled(q *request) bool { return q.through != nil && q.through.lost }

// usedAddsUp checks that what Redis counts as used in a month is what the ledger has of it.
func (w *world) usedAddsUp(team int, months map[int]Amounts) {
	for month, sum := range months {
		for unit, name := range policy.Units {
			if used := w.count(worldTeams[team], fmt.Sprintf("%d:%s:used", month, name)); used != sum[unit] {
				w.fail("used: %s used %d %s in %d, its ledger has %d", worldTeams[team], used, name, month, sum[unit])
			}
		}
	}
}
