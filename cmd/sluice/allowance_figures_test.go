package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// figures are what a lane came to.
type figures struct {
	admitted int64 // that clients were told, in the lane's unit
	upstream int64 // that the service did
	limit    int64
	ledger   int64 // that is charged
	open     int64 // that is held by requests, allowances left out
	aside    int64 // by allowances
}

// sumOpen adds up the open holds of a team past the gateway's own code: those of requests, and those that set something aside.
const sumOpen = `
local sums = {0, 0, 0, 0}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local text = redis.call('GET', KEYS[2] .. id)
  local r, t, i, s = string.match(text or '', '^held %d %d %d %d+ %d+ (%d+) (%d+) (%d+) (%d+) ')
  local at = string.sub(id, 1, 6) == 'allow-' and 3 or 1
  sums[at] = sums[at] + tonumber(r or 0)
  sums[at + 1] = sums[at + 1] + tonumber(i or 0)
end
return sums`

// openHolds are the requests and images that are held, of a team's requests and of its allowances.
func (r *race) openHolds(team string) (requests, images, requestsAside, imagesAside int64) {
	r.Helper()
	prefix := "sl1:{" + team + "}:"
	sums, ok := r.server.do("EVAL", sumOpen, 2, prefix+"open", prefix+"hold:").([]any)
	if !ok || len(sums) != 4 {
		r.Fatalf("the open holds of %s: %v", team, sums)
	}
	return sums[0].(int64), sums[1].(int64), sums[2].(int64), sums[3].(int64)
}

// charged is what the ledger has of a team, yesterday and today.
func (r *race) charged(team string) (requests, images int64) {
	r.Helper()
	for _, day := range []time.Time{time.Now().AddDate(0, 0, -1), time.Now()} {
		fields, err := r.server.admin.HGetAll(r.Context(), "sl1:{"+team+"}:use:"+day.UTC().Format("20060102")).Result()
		if err != nil {
			r.Fatal(err)
		}
		for field, text := range fields {
			var n int64
			_, _ = fmt.Sscan(text, &n)
			switch {
			case strings.HasSuffix(field, "|requests"):
				requests += n
			case strings.HasSuffix(field, "|images"):
				images += n
			}
		}
	}
	return requests, images
}

// figuresOf are a lane's, as they are now.
func (h *heat) figuresOf(i int) figures {
	h.Helper()
	l := &h.lanes[i]
	now := h.service.Tally()
	f := figures{admitted: h.counts[i].admitted.Load() * l.amount(), limit: l.limit}
	f.upstream = int64(now.Executed[l.request.endpoint]-h.from.Executed[l.request.endpoint]) * l.amount()
	requests, images, requestsAside, imagesAside := h.openHolds(l.team(h.n))
	usedRequests, usedImages := h.charged(l.team(h.n))
	f.ledger, f.open, f.aside = usedRequests, requests, requestsAside
	if l.unit == "images" {
		f.ledger, f.open, f.aside = usedImages, images, imagesAside
	}
	return f
}

// settled waits until the accounts of every lane are what upstream did, or say nothing new for long.
func (h *heat) settled() {
	var last string
	same := time.Now()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(50 * time.Millisecond) {
		now, agree := "", true
		for i := range h.lanes {
			f := h.figuresOf(i)
			now += fmt.Sprint(f)
			agree = agree && f.ledger+f.open == f.upstream
		}
		if now != last {
			last, same = now, time.Now()
		}
		if agree || time.Since(same) > 5*time.Second {
			return
		}
	}
}

// tell logs the figures of a lane, as a row of the table in docs/limits.md.
func (h *heat) tell(about string, i int, f figures) {
	h.Helper()
	count := &h.counts[i]
	h.Logf("| %-24s | %-8s | admitted %5d | upstream %5d | limit %5d | over %5d | ledger %5d | open %4d | set aside %3d | 503 %5d |",
		about, h.lanes[i].name, f.admitted, f.upstream, f.limit, f.upstream-f.limit, f.ledger, f.open, f.aside, count.away.Load())
}

// exact checks the first promise: no limit was passed, and the accounts are what upstream did.
func (h *heat) exact(about string) {
	h.Helper()
	h.settled()
	for i := range h.lanes {
		f := h.figuresOf(i)
		h.tell(about, i, f)
		if f.upstream > f.limit {
			h.Errorf("%s: %d of %s reached upstream, the limit is %d", about, f.upstream, h.lanes[i].name, f.limit)
		}
		if f.ledger+f.open != f.upstream {
			h.Errorf("%s: of %s the ledger has %d and %d are held, upstream did %d", about, h.lanes[i].name, f.ledger, f.open, f.upstream)
		}
		if f.admitted == 0 {
			h.Errorf("%s: nothing was admitted", about)
		}
	}
}

// bounded checks what holds although a replica was killed: its holds stand until their leases end, sent or not.
func (h *heat) bounded(about string) {
	h.Helper()
	h.settled()
	for i := range h.lanes {
		f := h.figuresOf(i)
		h.tell(about, i, f)
		if f.upstream > f.limit {
			h.Errorf("%s: %d of %s reached upstream, the limit is %d", about, f.upstream, h.lanes[i].name, f.limit)
		}
		if known, most := f.ledger+f.open, f.upstream+int64(h.lanes[i].workers)*h.lanes[i].amount(); known < f.upstream || known > most {
			h.Errorf("%s: of %s the ledger has %d and %d are held, upstream did %d", about, h.lanes[i].name, f.ledger, f.open, f.upstream)
		}
	}
}

// underWay is how many requests are under way at one moment, at most: being admitted, or being settled.
const underWay = 128

// remembered checks the second promise after a loss of memory that every replica survived.
func (h *heat) remembered(about string) {
	h.Helper()
	h.settled()
	for i := range h.lanes {
		f := h.figuresOf(i)
		h.tell(about, i, f)
		if f.upstream > f.limit+underWay*h.lanes[i].amount() {
			h.Errorf("%s: %d of %s reached upstream, the limit is %d", about, f.upstream, h.lanes[i].name, f.limit)
		}
		if f.ledger+f.open < f.upstream-underWay*h.lanes[i].amount() {
			h.Errorf("%s: of %s the ledger has %d and %d are held, upstream did %d", about, h.lanes[i].name, f.ledger, f.open, f.upstream)
		}
	}
}

// tasksAreKnown asks every replica for every task: it may say that it does not know at the moment, and never that there is
// no such task.
func (h *heat) tasksAreKnown() {
	h.Helper()
	asked, denied := 0, 0
	for i := range h.lanes {
		c := &h.counts[i]
		c.mu.Lock()
		tasks := append([]string(nil), c.tasks...)
		c.mu.Unlock()
		for n, id := range tasks {
			request, err := http.NewRequest(http.MethodGet, "http://"+h.gates[n%len(h.gates)].public+"/api/v1/tasks/"+id, http.NoBody)
			if err != nil {
				h.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+h.lanes[i].key(h.n))
			answer, err := h.client.Do(request)
			if err != nil {
				h.Fatal(err)
			}
			_ = answer.Body.Close()
			asked++
			if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
				denied++
			}
		}
	}
	h.Logf("%d of %d tasks are denied", denied, asked)
	if denied > 0 || asked == 0 {
		h.Errorf("%d of %d teams' own tasks are denied", denied, asked)
	}
}
