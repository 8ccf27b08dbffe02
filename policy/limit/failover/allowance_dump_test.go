package failover

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// dump is the data of a Redis at one moment.
type dump struct {
	at   time.Time
	keys map[string]func(m *miniredis.Miniredis) // each restores its key
	ends map[string]time.Duration                // the time each had left to live; absent: for ever
}

// dumpOf copies the data of a double of Redis.
func dumpOf(m *miniredis.Miniredis) *dump {
	d := &dump{at: time.Now(), keys: map[string]func(*miniredis.Miniredis){}, ends: map[string]time.Duration{}}
	for _, key := range m.Keys() {
		switch m.Type(key) {
		case "string":
			text, _ := m.Get(key)
			d.keys[key] = func(m *miniredis.Miniredis) { _ = m.Set(key, text) }
		case "hash":
			var pairs []string
			fields, _ := m.HKeys(key)
			for _, field := range fields {
				pairs = append(pairs, field, m.HGet(key, field))
			}
			d.keys[key] = func(m *miniredis.Miniredis) { m.HSet(key, pairs...) }
		case "set":
			members, _ := m.Members(key)
			d.keys[key] = func(m *miniredis.Miniredis) { _, _ = m.SAdd(key, members...) }
		case "zset":
			scores, _ := m.SortedSet(key)
			scores = maps.Clone(scores)
			d.keys[key] = func(m *miniredis.Miniredis) {
				for member, score := range scores {
					_, _ = m.ZAdd(key, score, member)
				}
			}
		case "list":
			items, _ := m.List(key)
			d.keys[key] = func(m *miniredis.Miniredis) { _, _ = m.RPush(key, items...) }
		default:
			panic(fmt.Sprintf("%s is a %s: nobody has told how to remember that", key, m.Type(key)))
		}
		if ttl := m.TTL(key); ttl > 0 {
			d.ends[key] = ttl
		}
	}
	return d
}

// restore replaces the data of a double of Redis, as a restart from an older dump does: expired keys are gone, and so are
// the scripts.
func (d *dump) restore(m *miniredis.Miniredis) {
	m.FlushAll()
	gone := time.Since(d.at)
	for key, put := range d.keys {
		ttl, bounded := d.ends[key]
		if bounded && ttl <= gone {
			continue
		}
		put(m)
		if bounded {
			m.SetTTL(key, ttl-gone)
		}
	}
}

// openHold is an open hold in Redis: a request's, or a replica's allowance.
type openHold struct {
	id         string
	day, month int
	task       bool
	amounts    limit.Amounts
	parts      [limit.InnerScopes]string // the names of the scopes inside the team whose quotas count it, behind @
}

// holdForm is the text of a hold. Behind the amounts are the team, with /@ and the key whose quotas count it, and the entry of the ledger,
// with #@ and the value of the tag.
var holdForm = regexp.MustCompile(
	`^(\w+) (\d) (\d) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (?:\d+ ){4}\S+ [^ /]+(?:/(\S+))? [^#]*(?:#(.*))?$`)

// openHolds reads the open holds of a team directly, without a script.
func (w *world) openHolds(team string) (list []openHold) {
	prefix := "sl1:{" + team + "}:"
	members, _ := w.server.ZMembers(prefix + "open")
	for _, id := range members {
		text, _ := w.server.Get(prefix + "hold:" + id)
		found := holdForm.FindStringSubmatch(text)
		if found == nil || found[1] != "held" {
			w.fail("held: the open hold %s is %q", id, text)
		}
		n := make([]int64, 11)
		for i := 2; i < len(n); i++ {
			n[i], _ = strconv.ParseInt(found[i], 10, 64)
		}
		list = append(list, openHold{id: id, task: n[3] == 1, day: int(n[5]), month: int(n[6]), amounts: limit.Amounts(n[7:]),
			parts: [...]string{found[12], found[11]}})
	}
	return list
}

// count reads a count of a team's hash of quotas; 0 if it is absent.
func (w *world) count(team, field string) int64 {
	n, _ := strconv.ParseInt(w.server.HGet("sl1:{"+team+"}:quota", field), 10, 64)
	return n
}

// heldAddsUp checks that the amounts held in Redis are the sums of the open holds, in each day and month and of tasks.
func (w *world) heldAddsUp() {
	for _, team := range worldAccounts {
		sums, tasks := map[string]int64{}, int64(0)
		holds := w.openHolds(team)
		for _, h := range holds {
			for u, n := range h.amounts {
				sums[fmt.Sprintf("%d:%s:held", h.day, unit.Names[u])] += n
				sums[fmt.Sprintf("%d:%s:held", h.month, unit.Names[u])] += n
			}
			if h.task {
				tasks++
			}
		}
		w.noteAllowances(team)
		w.partsHold(team, holds)
		fields, _ := w.server.HKeys("sl1:{" + team + "}:quota")
		for _, field := range fields {
			if strings.HasSuffix(field, ":held") {
				sums[field] += 0
			}
		}
		for field, want := range sums {
			if got := w.count(team, field); got != want {
				w.fail("held: of %s Redis counts %d as %s, the open holds are %d", team, got, field, want)
			}
		}
		if got := w.count(team, "tasks"); got < tasks { // an allowance may hold tasks, too
			w.fail("held: of %s Redis counts %d open tasks, %d are open", team, got, tasks)
		}
	}
}

var asideForm = regexp.MustCompile(`^(\w+) (\d+) (\d+) (\d+) (\d+) (\d+) \d+ \d+$`)

// noteAllowances notes the amounts that Redis has set aside for each replica and day, read without a script, and checks
// that its total includes all of them and nothing that was charged.
func (w *world) noteAllowances(team string) {
	aside := "sl1:{" + team + "}:aside"
	sums, tasks := map[string]int64{}, int64(0)
	fields, _ := w.server.HKeys(aside)
	for _, field := range fields {
		found := asideForm.FindStringSubmatch(w.server.HGet(aside, field))
		if found == nil {
			continue
		}
		day := field[len(field)-8:]
		var amounts limit.Amounts
		for u := range amounts {
			amounts[u], _ = strconv.ParseInt(found[2+u], 10, 64)
			if found[1] != "charged" {
				sums[day+":"+string(unit.Names[u])+":aside"] += amounts[u]
				sums[day[:6]+":"+string(unit.Names[u])+":aside"] += amounts[u]
			}
		}
		if n, _ := strconv.ParseInt(found[6], 10, 64); found[1] != "charged" {
			tasks += n
		}
		id := team + " " + field
		w.allowances[id] = mostOf(w.allowances[id], amounts)
	}
	for field, want := range sums {
		if got := w.count(team, field); got != want {
			w.fail("aside: of %s Redis counts %d as %s, the allowances are %d", team, got, field, want)
		}
	}
	if got := w.count(team, "tasks:aside"); got != tasks {
		w.fail("aside: of %s Redis counts %d tasks, the allowances are %d", team, got, tasks)
	}
}

// flushScripts forgets the scripts, as a restart does.
func (w *world) flushScripts() { _ = w.admin.ScriptFlush(context.Background()).Err() }
