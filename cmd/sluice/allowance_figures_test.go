package main

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// results are the figures of a lane.
type results struct {
	admitted int64 // in answers to clients, in the lane's unit
	upstream int64 // done by the service
	limit    int64
	ledger   int64 // charged
	open     int64 // held by requests
	aside    int64 // set aside by allowances
	dead     int64 // the part of it set aside for replicas that have died
}

// figuresOf returns a lane's current figures.
func (h *heat) figuresOf(i int) results {
	h.Helper()
	l := &h.lanes[i]
	now := h.service.Tally()
	f := results{admitted: h.counts[i].admitted.Load() * l.amount(), limit: l.limit}
	f.upstream = int64(now.Executed[l.request.endpoint]-h.from.Executed[l.request.endpoint]) * l.amount()
	h.read(&f, l.team(h.n), l.unit)
	return f
}

// read reads an account's figures in Redis.
func (h *heat) read(f *results, account, unit string) {
	h.Helper()
	of := h.booksOf(account)
	f.ledger, f.open = of.charged.of(unit), of.held.of(unit)
	for replica, aside := range of.aside {
		f.aside += aside.of(unit)
		if !h.lives(replica) {
			f.dead += aside.of(unit)
		}
	}
}

// houseFigures are the current figures of the house, in images.
func (h *heat) houseFigures() results {
	h.Helper()
	f, now := results{limit: h.house - h.fromHouse}, h.service.Tally()
	for i := range h.lanes {
		of := &h.lanes[i].request
		f.admitted += h.counts[i].admitted.Load() * of.images
		f.upstream += int64(now.Executed[of.endpoint]-h.from.Executed[of.endpoint]) * of.images
	}
	h.read(&f, teams.HouseID, "images")
	f.ledger -= h.fromHouse
	return f
}

// total is what is charged and held.
func (f results) total() int64 { return f.ledger + f.open }

// figures are those of each lane, and behind them those of the house if there is one.
func (h *heat) figures() (all []results) {
	h.Helper()
	for i := range h.lanes {
		all = append(all, h.figuresOf(i))
	}
	if h.house > 0 {
		all = append(all, h.houseFigures())
	}
	return all
}

// row is the name of a row of figures, its requests with 503, and the most that one request takes of its limit.
func (h *heat) row(i int) (name string, away, amount int64) {
	if i < len(h.lanes) {
		return h.lanes[i].name, h.counts[i].away.Load(), h.lanes[i].amount()
	}
	for n := range h.lanes {
		away, amount = away+h.counts[n].away.Load(), max(amount, h.lanes[n].request.images)
	}
	return "house", away, amount
}

// idleTurns is the number of maintenance turns of each replica without a change after which no change is expected.
const idleTurns = 8

// settled waits until the accounts of every lane agree with upstream's work, or until they stop changing although every
// replica goes on: on a busy machine a replica's turn takes longer, and so does this.
func (h *heat) settled(agree func(i int, f results) bool) {
	var last string
	turns := turnCount{race: h.race}
	for begun := time.Now(); time.Since(begun) < 2*patience; time.Sleep(50 * time.Millisecond) { // it polls other processes
		now, all := "", true
		for i, f := range h.figures() {
			now += fmt.Sprint(f)
			all = all && agree(i, f)
		}
		if now != last {
			last = now
			turns.begin()
		}
		if all || turns.least() > idleTurns {
			return
		}
	}
}

// turnCount counts the turns that each replica reports to Redis.
type turnCount struct {
	*race
	told  map[string]string // the last one of each
	turns map[string]int
}

func (c *turnCount) begin() { c.told, c.turns = map[string]string{}, map[string]int{} }

// least is the smallest number of turns of any replica since the beginning.
func (c *turnCount) least() int {
	c.Helper()
	told := pairs(c.server.do("HGETALL", "sl1:replicas"))
	var all []int
	for i := range c.gates {
		id := c.gates[i].Load().id
		if c.told[id] != told[id] {
			c.told[id] = told[id]
			c.turns[id]++
		}
		all = append(all, c.turns[id])
	}
	return slices.Min(all)
}

// agrees reports whether ledger and holds have exactly upstream's work.
func agrees(_ int, f results) bool { return f.total() == f.upstream }

// tell logs a lane's figures, as a row of the table in docs/performance.md.
func (h *heat) tell(about string, i int, f results) {
	h.Helper()
	name, away, _ := h.row(i)
	h.Logf("| %-24s | %-8s | admitted %5d | upstream %5d | limit %5d | over %5d | ledger %5d | open %4d | set aside %3d | 503 %5d |",
		about, name, f.admitted, f.upstream, f.limit, f.upstream-f.limit, f.ledger, f.open, f.aside, away)
}

// exact checks the first promise: no limit was exceeded, and the accounts agree with upstream's work. Including the amounts set
// aside they may exceed the limit: if Redis placed a hold and the reply was lost, the request's loan stays set aside, too, until
// the renewal after its settlement.
func (h *heat) exact(about string) {
	h.Helper()
	h.settled(agrees)
	for i, f := range h.figures() {
		name, _, _ := h.row(i)
		h.tell(about, i, f)
		if f.upstream > f.limit {
			h.Errorf("%s: %d of %s reached upstream, the limit is %d", about, f.upstream, name, f.limit)
		}
		if !agrees(i, f) {
			h.Errorf("%s: of %s the ledger has %d and %d are held, upstream did %d", about, name, f.ledger, f.open, f.upstream)
		}
		if f.admitted == 0 {
			h.Errorf("%s: nothing was admitted", about)
		}
	}
	h.partsHold(about, 0)
}

// bounded checks the promises that hold even if a replica was killed. Spending that it did not report is in neither ledger nor
// holds: its allowance covers it and stays set aside. It also leaves holds of requests that never reached upstream, until their
// leases end: one per request being admitted, and one per request refused because Redis did not confirm its hold in time.
func (h *heat) bounded(about string) {
	h.Helper()
	known := func(i int, f results) bool {
		return f.upstream <= f.total()+f.dead && f.total() <= f.upstream+h.left(i)
	}
	h.settled(known)
	for i, f := range h.figures() {
		name, _, _ := h.row(i)
		h.tell(about, i, f)
		if f.upstream > f.limit {
			h.Errorf("%s: %d of %s reached upstream, the limit is %d", about, f.upstream, name, f.limit)
		}
		if !known(i, f) {
			h.Errorf("%s: of %s the ledger has %d, %d are held and %d set aside for who is gone, upstream did %d; at most %d are held for nothing",
				about, name, f.ledger, f.open, f.dead, f.upstream, h.left(i))
		}
	}
	h.partsHold(about, 0)
}

// left is the largest amount of a lane's unit for which killed replicas may have left needless holds.
func (h *heat) left(i int) (n int64) {
	if i == len(h.lanes) { // the house
		for lane := range h.lanes {
			l := &h.lanes[lane]
			n += h.left(lane) / l.amount() * l.request.images
		}
		return n
	}
	for _, g := range h.killed {
		n += g.asking[i] + g.turnedAway[i].Load()
	}
	return n * h.lanes[i].amount()
}

// underWay is the largest number of requests in flight at one moment: being admitted, or being settled.
const underWay = 128

// remembered checks the second promise, after a loss of memory that every replica survived.
func (h *heat) remembered(about string) {
	h.Helper()
	h.settled(agrees)
	for i, f := range h.figures() {
		name, _, amount := h.row(i)
		h.tell(about, i, f)
		if f.upstream > f.limit+underWay*amount {
			h.Errorf("%s: %d of %s reached upstream, the limit is %d", about, f.upstream, name, f.limit)
		}
		if f.total() < f.upstream-underWay*amount {
			h.Errorf("%s: of %s the ledger has %d and %d are held, upstream did %d", about, name, f.ledger, f.open, f.upstream)
		}
	}
	h.partsHold(about, underWay)
}

// tasksAreKnown polls every task at every replica: a replica may answer that it does not know at the moment, but never that the
// task does not exist.
func (h *heat) tasksAreKnown() {
	h.Helper()
	const together = 16 // while the load goes on
	var asked, denied atomic.Int64
	var asking sync.WaitGroup
	for i := range h.lanes {
		c := &h.counts[i]
		c.mu.Lock()
		tasks := slices.Clone(c.tasks)
		c.mu.Unlock()
		for first := range together {
			asking.Go(func() {
				for n := first; n < len(tasks); n += together {
					asked.Add(1)
					if h.deniesTask(i, n, tasks[n]) {
						denied.Add(1)
					}
				}
			})
		}
	}
	asking.Wait()
	h.Logf("%d of %d tasks are denied", denied.Load(), asked.Load())
	if denied.Load() > 0 || asked.Load() == 0 {
		h.Errorf("%d of %d polls of teams' tasks are denied", denied.Load(), asked.Load())
	}
}

// deniesTask polls a task of a lane at a replica, and reports whether the replica denies it.
func (h *heat) deniesTask(lane, replica int, id string) bool {
	gate := h.gates[replica%len(h.gates)].Load()
	request, err := http.NewRequest(http.MethodGet, "http://"+gate.public+"/api/v1/tasks/"+id, http.NoBody)
	if err != nil {
		h.Error(err)
		return true
	}
	request.Header.Set("Authorization", "Bearer "+h.lanes[lane].keys()[0].secret(h.n))
	answer, err := h.client.Do(request)
	if err != nil {
		h.Error(err)
		return true
	}
	_ = answer.Body.Close()
	return answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable
}
