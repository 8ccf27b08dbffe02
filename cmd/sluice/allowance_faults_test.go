package main

import (
	"context"
	"io"
	"net"
	"syscall"
	"time"
)

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
	time.Sleep(d - time.Since(begun))
	r.server.signal(syscall.SIGCONT)
}

// outage stops Redis for longer; the replicas reach it again one after another.
func (r *race) outage(d, apart time.Duration) {
	r.server.signal(syscall.SIGSTOP)
	begun := time.Now()
	for i := range r.proxies {
		r.silent(i, d/10)
	}
	time.Sleep(d - time.Since(begun))
	for _, p := range r.proxies[1:] {
		p.Stop()
	}
	r.server.signal(syscall.SIGCONT)
	for i, p := range r.proxies[1:] {
		r.silent(i+1, apart/10)
		time.Sleep(apart)
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
	time.Sleep(d - time.Since(begun))
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

// killAlone kills an isolated replica once it has spent something by itself. Another takes its place.
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
		time.Sleep(each - time.Since(begun))
		if err := p.Start(); err != nil {
			r.Fatal(err)
		}
		time.Sleep(each / 2)
	}
}
