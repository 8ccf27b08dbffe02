package main

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/policy/teams"
)

// raceGate is one replica.
type raceGate struct {
	*gatewayProcess
	id         string         // its own name among the replicas
	turnedAway []atomic.Int64 // of each lane, the refused requests, except those while it was isolated
	alone      atomic.Bool    // its data no longer reaches Redis
	spent      atomic.Int64   // requests that it admitted then
}

// answered notes the outcome of a request.
func (g *raceGate) answered(lane int, admitted, alone bool) {
	switch {
	case admitted && alone:
		g.spent.Add(1)
	case !admitted && !alone:
		g.turnedAway[lane].Add(1)
	}
}

// launch starts a replica at a place.
func (r *race) launch(i, lanes int) {
	r.Helper()
	before := r.replicas()
	environ := append(r.environ[:len(r.environ):len(r.environ)], "SLUICE_REDIS_URL=redis://"+r.proxies[i].Listen, "SLUICE_LOG_LEVEL=info")
	g := &raceGate{gatewayProcess: startBinary(r.T, r.binary, environ), turnedAway: make([]atomic.Int64, lanes)}
	wait(r.T, "the replica is known to Redis", func() bool {
		for id := range r.replicas() {
			if !before[id] {
				g.id = id
			}
		}
		return g.id != ""
	})
	r.gates[i].Store(g)
}

// replicas are the names of all replicas that Redis knows.
func (r *race) replicas() map[string]bool {
	r.Helper()
	ids := map[string]bool{}
	for _, field := range r.server.do("HKEYS", "sl1:replicas").([]any) {
		if id := field.(string); len(id) > 5 { // the other members are times
			ids[id] = true
		}
	}
	return ids
}

// lives reports whether a replica runs at one of the places.
func (r *race) lives(id string) bool {
	for i := range r.gates {
		if r.gates[i].Load().id == id {
			return true
		}
	}
	return false
}

// victim is a replica that was killed, with its requests under way by lane.
type victim struct {
	*raceGate
	asking []int64
}

// placeOf is the place to which a worker sends.
func (h *heat) placeOf(worker int) int { return worker % len(h.gates) }

// kill kills the replica at a place.
func (h *heat) kill(i int) {
	h.Helper()
	gone := victim{h.gates[i].Load(), make([]int64, len(h.lanes))}
	for lane := range h.lanes {
		for worker := range h.lanes[lane].workers {
			if h.placeOf(worker) == i {
				gone.asking[lane]++
			}
		}
	}
	gone.kill()
	h.killed = append(h.killed, gone)
}

// prepare lets each replica admit a request of each lane, and waits until it has an allowance of each.
func (h *heat) prepare() {
	h.Helper()
	for i := range h.lanes {
		for place := range h.gates {
			h.ask(i, place)
		}
	}
	wait(h.T, "each replica has an allowance of each lane", func() bool {
		if h.house > 0 && !h.haveAllowances(teams.HouseID, "images") {
			return false
		}
		for i := range h.lanes { // without Redis nothing is admitted in parts
			if l := &h.lanes[i]; l.parts == 0 && !h.haveAllowances(l.team(h.n), l.unit) {
				return false
			}
		}
		return true
	})
}

// haveAllowances reports whether each replica has an allowance of an account.
func (h *heat) haveAllowances(account, unit string) bool {
	h.Helper()
	aside := h.booksOf(account).aside
	for place := range h.gates {
		if of := aside[h.gates[place].Load().id]; of.of(unit) == 0 {
			return false
		}
	}
	return true
}

// well waits until no replica limits a team by itself.
func (r *race) well() {
	r.Helper()
	client := newClient(r.T)
	defer client.CloseIdleConnections()
	defer func() {
		for i := range r.gates {
			if r.Failed() {
				gate := r.gates[i].Load()
				_, text, err := ask(client, "http://"+gate.admin, "/readyz?verbose", "")
				said := gate.log.bytes()
				r.Logf("replica %d: %s %v\nit logged last\n%s", i, text, err, said[max(0, len(said)-4000):])
			}
		}
	}()
	wait(r.T, "all replicas are well", func() bool {
		for i := range r.gates {
			if _, text, err := ask(client, "http://"+r.gates[i].Load().admin, "/metrics", ""); err != nil ||
				!strings.Contains(text, "\nsluice_state_degraded 0\n") {
				return false
			}
		}
		return true
	})
}

// silent checks that a replica gets no reply from Redis for a while: the failure is in force.
func (r *race) silent(i int, d time.Duration) {
	r.Helper()
	conn, err := net.DialTimeout("tcp", r.proxies[i].Listen, d)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(d))
	_, _ = io.WriteString(conn, "PING\r\n")
	if n, _ := conn.Read(make([]byte, 16)); n > 0 {
		r.Errorf("Redis answers replica %d, although it should not", i)
	}
}

// stall stops Redis for a moment.
func (r *race) stall(d time.Duration) {
	r.server.signal(syscall.SIGSTOP)
	begun := time.Now()
	r.silent(0, d/2)
	time.Sleep(d - time.Since(begun)) // the failure lasts so long
	r.server.signal(syscall.SIGCONT)
}

// outage stops Redis for longer; the replicas reach it again one after another.
func (r *race) outage(d, apart time.Duration) {
	r.server.signal(syscall.SIGSTOP)
	begun := time.Now()
	for i := range r.proxies {
		r.silent(i, d/10)
	}
	time.Sleep(d - time.Since(begun)) // the failure lasts so long
	for _, p := range r.proxies[1:] {
		p.Stop()
	}
	r.server.signal(syscall.SIGCONT)
	for i, p := range r.proxies[1:] {
		r.silent(i+1, apart/10)
		time.Sleep(apart) // the replicas return one after another
		if err := p.Start(); err != nil {
			r.Fatal(err)
		}
	}
}

// cut drops the data that one replica sends for a while.
func (r *race) cut(i int, d time.Duration) {
	toxic(r.T, r.proxies[i], `{"name":"hole","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	begun := time.Now()
	r.silent(i, d/4)
	time.Sleep(d - time.Since(begun)) // the failure lasts so long
	if err := r.proxies[i].Toxics.RemoveToxic(context.Background(), "hole"); err != nil {
		r.Error(err)
	}
}

// isolate drops the data that one replica sends.
func (h *heat) isolate(i int) {
	h.Helper()
	toxic(h.T, h.proxies[i], `{"name":"hole","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	h.silent(i, redisTimeout)
	h.gates[i].Load().alone.Store(true)
}

// killAlone kills an isolated replica once it has spent something on its own. Another takes its place.
func (h *heat) killAlone(i int) {
	h.Helper()
	gate := h.gates[i].Load()
	wait(h.T, "the replica spends by itself", func() bool { return gate.spent.Load() >= 5 })
	h.kill(i)
	if err := h.proxies[i].Toxics.RemoveToxic(context.Background(), "hole"); err != nil {
		h.Error(err)
	}
	h.launch(i, len(h.lanes))
}

// flaps takes the network from one replica after another.
func (r *race) flap(times int, each time.Duration) {
	for n := range times {
		p := r.proxies[n%len(r.proxies)]
		p.Stop()
		begun := time.Now()
		r.silent(n%len(r.proxies), each/4)
		time.Sleep(each - time.Since(begun)) // the failure lasts so long
		if err := p.Start(); err != nil {
			r.Fatal(err)
		}
		time.Sleep(each / 2) // some requests pass before the next failure
	}
}
