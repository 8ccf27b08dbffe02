package main

import (
	"fmt"
	"strings"
	"time"
)

// stock is an amount of each unit that the lanes' limits count.
type stock struct{ requests, images, tasks int64 }

// of returns the amount of a lane's unit. Tasks have no named unit: each is a request, also when it is charged.
func (s stock) of(unit string) int64 {
	switch unit {
	case "requests":
		return s.requests
	case "images":
		return s.images
	}
	return s.tasks
}

// teamBooks is the state of a team in Redis at one moment, read without the gateway's code.
type teamBooks struct {
	charged stock            // by the ledger, yesterday and today
	held    stock            // by requests
	aside   map[string]stock // by allowances, of each replica
}

// readBooks reads a team's open holds, its allowances with their sums in the accounts, and its ledger.
const readBooks = `
local requests, images, tasks = 0, 0, 0
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local task, r, i = string.match(redis.call('GET', KEYS[2] .. id) or '', '^held %d (%d) %d+ %d+ %d+ (%d+) %d+ (%d+) ')
  requests, images, tasks = requests + (r or 0), images + (i or 0), tasks + (task or 0)
end
return {{requests, images, tasks}, redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4]),
  redis.call('HGETALL', KEYS[5]), redis.call('HGETALL', KEYS[6])}`

// booksOf reads a team's books.
func (r *race) booksOf(team string) (b teamBooks) {
	r.Helper()
	prefix, now := "sl1:{"+team+"}:", time.Now().UTC()
	use := func(day time.Time) string { return prefix + "use:" + day.Format("20060102") }
	read, ok := r.server.do("EVAL", readBooks, 6, prefix+"open", prefix+"hold:", prefix+"aside", prefix+"quota", use(now),
		use(now.AddDate(0, 0, -1))).([]any)
	if !ok || len(read) != 5 {
		r.Fatalf("the books of %s: %v", team, read)
	}
	held := read[0].([]any)
	b.held = stock{held[0].(int64), held[1].(int64), held[2].(int64)}
	b.aside = r.allowances(pairs(read[1]), now)
	for _, ledger := range read[3:] {
		for field, text := range pairs(ledger) {
			b.charged.add(field, "|", text)
		}
	}
	b.charged.tasks = b.charged.requests
	r.sumsUp(team, b.aside, pairs(read[2]), now)
	return b
}

// allowances are the team's allowances in Redis, by replica. A charged allowance is no longer set aside, and one of another
// month does not count in this month's limits.
func (r *race) allowances(fields map[string]string, now time.Time) map[string]stock {
	r.Helper()
	aside := map[string]stock{}
	for field, text := range fields {
		replica, day, is := strings.Cut(field, ":")
		if !is { // the last report of a replica
			continue
		}
		var state string
		var of stock
		var tokens, spend, due, renewed int64
		if _, err := fmt.Sscan(text, &state, &of.requests, &tokens, &of.images, &spend, &of.tasks, &due, &renewed); err != nil {
			r.Fatalf("the allowance %s is %q: %v", field, text, err)
		}
		if state == "charged" {
			continue
		}
		if !strings.HasPrefix(day, now.Format("200601")) {
			of.requests, of.images = 0, 0
		}
		all := aside[replica]
		aside[replica] = stock{all.requests + of.requests, all.images + of.images, all.tasks + of.tasks}
	}
	return aside
}

// sumsUp checks that the amount that admissions count as set aside is the sum of the allowances.
func (r *race) sumsUp(team string, aside map[string]stock, quota map[string]string, now time.Time) {
	r.Helper()
	var sum, said stock
	for _, of := range aside {
		sum = stock{sum.requests + of.requests, sum.images + of.images, sum.tasks + of.tasks}
	}
	for _, unit := range []string{"requests", "images"} {
		said.add(unit, "", quota[now.Format("200601")+":"+unit+":aside"])
	}
	_, _ = fmt.Sscan(quota["tasks:aside"], &said.tasks)
	if sum != said {
		r.Errorf("%s: its allowances are %+v, and its accounts say %+v", team, sum, said)
	}
}

// add adds the number in a field that ends with a unit's name behind a separator.
func (s *stock) add(field, separator, text string) {
	var n int64
	_, _ = fmt.Sscan(text, &n)
	switch {
	case strings.HasSuffix(field, separator+"requests"):
		s.requests += n
	case strings.HasSuffix(field, separator+"images"):
		s.images += n
	}
}

// pairs are the fields of a hash.
func pairs(list any) map[string]string {
	fields := map[string]string{}
	for all := list.([]any); len(all) > 1; all = all[2:] {
		fields[all[0].(string)] = all[1].(string)
	}
	return fields
}
