package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/unit"
)

// balance is the part of a team's ledger that the world explains, by unit.
type balance struct{ exact, estimated limit.Amounts }

// ledgerOf adds up the ledger of a team.
func (w *world) ledgerOf(team int) (all balance, rows map[string]balance, months map[int]limit.Amounts) {
	rows, months = map[string]balance{}, map[int]limit.Amounts{}
	accounts := redisstore.New(w.admin)
	for _, day := range w.days() {
		list, err := accounts.Rows(context.Background(), limit.QueryOf(worldTeams[team], []int{day}, limit.ScopeTeam))
		if err != nil {
			w.fail("the ledger: %v", err)
		}
		for _, row := range list {
			exact := row.Used.Minus(row.Estimated)
			months[day/100] = months[day/100].Plus(row.Used)
			all.exact, all.estimated = all.exact.Plus(exact), all.estimated.Plus(row.Estimated)
			name := w.rowName(row.Day, limit.LedgerName(row.Model, row.Endpoint, row.Account))
			rows[name] = balance{rows[name].exact.Plus(exact), rows[name].estimated.Plus(row.Estimated)}
		}
	}
	return all, rows, months
}

// rowName names an entry of the ledger, with its day if that is certain.
func (w *world) rowName(day int, what string) string {
	if w.blurred {
		return what
	}
	return fmt.Sprint(day, " ", what)
}

// reckoning is the expected ledger of a team.
type reckoning struct {
	rows  map[string]balance // of replicas that live, by entry
	sure  balance            // their sum
	maybe balance            // at most, of replicas that died: sent or not, settled or not
	kept  limit.Amounts      // at least, of those
	aside limit.Amounts      // at most, for the amounts set aside for them
	died  bool
}

// reckon adds up the use of a team.
func (w *world) reckon(team int) reckoning {
	r := reckoning{rows: map[string]balance{}}
	for _, q := range w.requests {
		if q.team != team {
			continue
		}
		one, name := q.balance(), w.rowName(q.held.Day, limit.LedgerName(q.model, q.endpoint, q.account))
		if !q.orphaned() {
			r.sure = r.sure.plus(one)
			r.rows[name] = r.rows[name].plus(one)
			continue
		}
		r.died = true
		r.maybe = r.maybe.plus(balance{one.exact, q.atMost()})
		if q.told {
			r.kept = r.kept.Plus(q.counted())
		} else if w.inAGap(q) {
			r.kept = r.kept.Plus(q.by.counted(team, q.counted()))
		}
	}
	for _, q := range w.refused {
		if q.team == team && q.by.lost {
			r.died = true
			r.maybe.estimated = r.maybe.estimated.Plus(q.amounts)
		}
	}
	for name, amounts := range w.allowances {
		if r.died && strings.HasPrefix(name, worldTeams[team]+" ") {
			r.aside = r.aside.Plus(amounts)
		}
	}
	return r
}

func (b balance) plus(more balance) balance {
	return balance{b.exact.Plus(more.exact), b.estimated.Plus(more.estimated)}
}

// orphaned reports whether the replica of a request, or the one that learned its use, died.
func (q *request) orphaned() bool { return q.by.lost || q.through != nil && q.through.lost }

// balance checks the ledger of a team against the work of upstream.
func (w *world) balance(team int) {
	all, rows, months := w.ledgerOf(team)
	if w.ever {
		w.isRemembered(team, all)
		return
	}
	w.usedAddsUp(team, months)
	r := w.reckon(team)
	for u, name := range unit.Names {
		exact, total := all.exact[u], all.exact[u]+all.estimated[u]
		sure := r.sure.exact[u] + r.sure.estimated[u]
		switch {
		case exact < r.sure.exact[u] || exact > r.sure.exact[u]+r.maybe.exact[u]:
			w.fail("ledger: %s has %d %s for certain, upstream did %d, and %d at replicas that died", worldTeams[team], exact, name,
				r.sure.exact[u], r.maybe.exact[u])
		case total < sure+r.kept[u]:
			w.fail("ledger: %s has %d %s, upstream did %d, and %d at replicas that died, which Redis knew", worldTeams[team], total, name, sure,
				r.kept[u])
		case total > sure+r.maybe.estimated[u]+r.aside[u]:
			w.fail("ledger: %s has %d %s, upstream did %d, and at most %d at replicas that died", worldTeams[team], total, name, sure,
				r.maybe.estimated[u])
		}
	}
	if !r.died {
		w.sameRows(team, rows, r.rows)
	}
	w.partsAddUp(team, r.died)
}

// isRemembered checks that the ledger has all work of upstream although Redis lost its memory, except for use that no live
// replica knew.
func (w *world) isRemembered(team int, all balance) {
	var sum limit.Amounts
	for _, q := range w.requests {
		if q.team == team && !q.forgiven && !q.orphaned() {
			sum = sum.Plus(q.charged())
		}
	}
	for u, name := range unit.Names {
		if total := all.exact[u] + all.estimated[u]; total < sum[u] {
			w.fail("ledger: %s has %d %s, upstream did %d that some replica knew", worldTeams[team], total, name, sum[u])
		}
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

// balance returns the expected entries of a request in the ledger.
func (q *request) balance() balance {
	if q.settled && !q.guess {
		return balance{exact: q.used}
	}
	return balance{estimated: q.charged()}
}

// atMost returns the largest charge of a request, whether its settlement has arrived or not.
func (q *request) atMost() limit.Amounts {
	if q.settled {
		return mostOf(q.used, q.amounts)
	}
	return q.amounts
}

// inAGap reports whether Redis was away for all when a request of a replica that died was admitted, and another replica
// lived through that, so that the first one's allowance is charged. A report that arrives after its sender's death may hide
// that.
func (w *world) inAGap(q *request) bool {
	w.mu.Lock()
	late := w.anyLate
	w.mu.Unlock()
	if late {
		return false
	}
	for _, g := range w.gaps {
		if q.at.Before(g.from) || q.at.After(g.to) {
			continue
		}
		for _, r := range slices.Concat(w.replicas, w.former) {
			if r != nil && r != q.by && r.begun.Before(g.from) && (r.ended.IsZero() || r.ended.After(g.to)) {
				return true
			}
		}
	}
	return false
}

// counted returns the amounts that a quota of the team counts, and so an allowance. Of a unit that quotas of the tag's values count nothing
// is set aside.
func (r *replica) counted(team int, a limit.Amounts) limit.Amounts {
	t := limit.TermsOf(r.teams[team])
	for u := range a {
		if !t.Counts(u) || t.Of(limit.ScopeTag).Counts(u) {
			a[u] = 0
		}
	}
	return a
}

// usedAddsUp checks that the use of a month in Redis is the sum of the ledger.
func (w *world) usedAddsUp(team int, months map[int]limit.Amounts) {
	for month, sum := range months {
		for u, name := range unit.Names {
			if used := w.count(worldTeams[team], fmt.Sprintf("%d:%s:used", month, name)); used != sum[u] {
				w.fail("used: %s used %d %s in %d, its ledger has %d", worldTeams[team], used, name, month, sum[u])
			}
		}
	}
}
