package failover

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// worldParts are the kinds of scopes inside a team, and the ends of their ledgers' names in Redis.
var worldParts = map[limit.ScopeKind]string{limit.ScopeTag: "tags", limit.ScopeKey: "keys"}

// nameIn is the value of the request's tag, or its key.
func (k *kind) nameIn(of limit.ScopeKind) string {
	if of == limit.ScopeTag {
		return k.tag
	}
	return k.key
}

// inPart reports whether a request belongs to the same part of a team as another, and to the same period of a quota.
func (q *request) inPart(of limit.ScopeKind, quota int, other *request) bool {
	return q.in(quota, other) && q.nameIn(of) == other.nameIn(of)
}

// widest are the largest quotas of a request's part that any replica has, or had a moment ago.
func (w *world) widest(of limit.ScopeKind, q *request) (all [limit.QuotaCount]int64) {
	first := true
	for _, e := range w.editions {
		if !e.until.IsZero() && time.Since(e.until) > editionsLast {
			continue
		}
		t := limit.TermsFor(e.teams[q.team], q.key)
		for n, most := range t.Of(of).Quotas {
			if first {
				all[n] = most
			}
			all[n] = wider(all[n], most)
		}
		first = false
	}
	return all
}

// withinParts checks the admitted requests, with this one, against the quotas of its tag's value and of its key. Without Redis a replica
// admits nothing that they count. A replica whose limits had no such quota reports what it admitted only later.
func (w *world) withinParts(by *request) {
	for of := range worldParts {
		for quota, most := range w.widest(of, by) {
			u, sum, forgiven := quota/2, int64(0), int64(0)
			if most == limit.None || by.amounts[u] == 0 {
				continue
			}
			for _, q := range w.requests {
				if q.inPart(of, quota, by) {
					sum += q.counted()[u]
					if q.forgiven || !q.terms.Of(of).Counts(u) {
						forgiven += q.counted()[u]
					}
				}
			}
			if sum > most+forgiven {
				w.fail("parts: %s admitted %d %s of one %s for the %s %q, the most is %d%s",
					by.by.name, sum, unit.Names[u], teams.Periods[quota%2], of, by.nameIn(of), most, w.unknown(forgiven))
			}
			if by.held.Local && by.terms.Of(of).Counts(u) {
				w.fail("parts: %s admitted %s without Redis, although a quota of the %s counts them", by.by.name, unit.Names[u], of)
			}
		}
	}
}

// partsLack reports whether a quota of a part may lack what a request needs.
func (w *world) partsLack(probe *request) bool {
	t := limit.TermsFor(w.replicas[0].teams[probe.team], probe.key)
	for of := range worldParts {
		for quota, most := range t.Of(of).Quotas {
			u, sum := quota/2, probe.amounts[quota/2]
			if most == limit.None || sum == 0 {
				continue
			}
			for _, q := range w.requests {
				if q.inPart(of, quota, probe) {
					sum += q.atMost()[u]
				}
			}
			if sum > most {
				return true
			}
		}
	}
	return false
}

// days are those of the story.
func (w *world) days() (list []int) {
	for d := starts[w.story.start]; d.Before(time.Now().AddDate(0, 0, 1)); d = d.AddDate(0, 0, 1) {
		list = append(list, limit.CalendarOf(d).Day)
	}
	return list
}

// partsHold checks that the amounts that Redis says the parts of a team hold are the sums of the open holds. Days of past months need not
// be right: no quota counts them.
func (w *world) partsHold(team string, holds []openHold) {
	month := limit.CalendarOf(time.Now()).Month
	for of, end := range worldParts {
		for _, day := range w.days() {
			if day/100 != month {
				continue
			}
			key, sums := fmt.Sprintf("sl1:{%s}:use:%d:%s", team, day, end), map[string]int64{}
			fields, _ := w.server.HKeys(key)
			for _, field := range fields {
				if strings.HasSuffix(field, "|held") {
					sums[field] = 0
				}
			}
			for _, h := range holds {
				name, counted := strings.CutPrefix(h.parts[of-1], "@")
				for u, n := range h.amounts {
					if counted && h.day == day && n > 0 {
						sums[name+"||"+string(unit.Names[u])+"|held"] += n
					}
				}
			}
			for field, want := range sums {
				if got, _ := strconv.ParseInt(w.server.HGet(key, field), 10, 64); got != want {
					w.fail("held: of the %s of %s on %d Redis counts %d as %s, the open holds are %d", of, team, day, got, field, want)
				}
			}
		}
	}
}

// partsAddUp checks the ledgers of tags and keys against the work of upstream: each request is in the row of its value and in that of its
// key. Of replicas that died it may be there or not, unless Redis had told that it holds it. Allowances that are charged belong to no part.
func (w *world) partsAddUp(team int, died bool) {
	for of := range worldParts {
		rows, err := redisstore.New(w.admin).Rows(context.Background(), limit.QueryOf(worldTeams[team], w.days(), of))
		if err != nil {
			w.fail("the ledger of %ss: %v", of, err)
		}
		name := func(day int, part string) string {
			if died { // it is not known on which day a request was refused
				return part
			}
			return w.rowName(day, part)
		}
		got, least, most := map[string]balance{}, map[string]balance{}, map[string]balance{}
		for _, row := range rows {
			name := name(row.Day, row.Tag+row.Key)
			got[name] = got[name].plus(balance{row.Used.Minus(row.Estimated), row.Estimated})
		}
		for _, q := range w.requests {
			if q.team != team || q.nameIn(of) == "" {
				continue
			}
			name, one := name(q.held.Day, q.nameIn(of)), q.balance()
			switch {
			case !q.orphaned():
				least[name], most[name] = least[name].plus(one), most[name].plus(one)
				continue
			case q.told:
				least[name] = least[name].plus(balance{estimated: q.counted()})
			}
			most[name] = most[name].plus(balance{one.exact, q.atMost()})
		}
		for _, q := range w.refused {
			if q.team == team && q.by.lost && q.nameIn(of) != "" {
				most[q.nameIn(of)] = most[q.nameIn(of)].plus(balance{estimated: q.amounts})
			}
		}
		for _, name := range slices.Concat(keysIn(got), keysIn(most)) {
			w.between(fmt.Sprintf("%s, %s %s", worldTeams[team], of, name), got[name], least[name], most[name])
		}
	}
}

// between checks what the ledger has of a part.
func (w *world) between(what string, got, least, most balance) {
	all, atLeast, atMost := got.exact.Plus(got.estimated), least.exact.Plus(least.estimated), most.exact.Plus(most.estimated)
	for u, name := range unit.Names {
		if got.exact[u] < least.exact[u] || got.exact[u] > most.exact[u] || all[u] < atLeast[u] || all[u] > atMost[u] {
			w.fail("ledger: of %s there are %d %s, %d of them for certain; upstream did %d to %d, %d to %d for certain",
				what, all[u], name, got.exact[u], atLeast[u], atMost[u], least.exact[u], most.exact[u])
		}
	}
}

// worldRate is how many requests an hour the second key of labs may make.
const worldRate = 60

// rateHolds checks the rate of a key: with any replicas cut off it admits at most its limit and each replica's share of it, in every
// window. A replica that died left a share to its successor.
func (w *world) rateHolds() {
	unlimited := func(e edition) bool { return e.name == "requests only" }
	if w.ever || slices.ContainsFunc(w.editions, unlimited) {
		return
	}
	processes := len(w.former) + 1 // the last one replaced none
	most, level, last := float64(worldRate)*(1+float64(processes)/float64(w.story.told)), 0.0, time.Time{}
	for _, q := range w.requests {
		if q.key != "bbbbbbbbbbbb" {
			continue
		}
		level = max(level-q.at.Sub(last).Hours()*most, 0) + float64(q.counted()[limit.Requests])
		last = q.at
		if level > most {
			w.fail("rates: %d requests at once with a key, the most is %.0f", int(level), most)
		}
	}
}
