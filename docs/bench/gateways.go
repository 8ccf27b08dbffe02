package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"sluice/docs/bench/process"
)

// gateway is one that can be measured. Its script starts it and sets what it governs.
type gateway struct {
	name     string
	requests requests
	rate     int    // of the open loop, if it cannot take the usual one
	redis    bool   // needs Redis
	console  string // the address of its console
	turns    int    // of the measure consoles
	*process.Process
}

func newGateway(name string, rate int) *gateway {
	g := &gateway{name: name, requests: serviceRequests(), rate: rate}
	switch name {
	case "litellm":
		g.requests, g.rate = openAIRequests(), min(rate, 20)
	case "sluice-redis", "sluice-consoles":
		g.redis = true
	}
	return g
}

// world is the environment of the gateways.
type world struct {
	options
	service, redis *process.Process
}

// build starts the service, and Redis if a gateway needs it.
func build(ctx context.Context, o options, redis bool) (w *world, err error) {
	w = &world{options: o}
	address := freeAddress()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w.service, err = process.Start(ctx, process.Config{
		Command: []string{program, "service", address}, Core: o.others, Address: address, Log: filepath.Join(o.work, "service.log"),
	})
	if err != nil || !redis {
		return w, err
	}
	_, port, _ := net.SplitHostPort(freeAddress())
	w.redis, err = process.Start(ctx, process.Config{
		Command: []string{"redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", o.work},
		Core:    o.others, Address: "127.0.0.1:" + port, Log: filepath.Join(o.work, "redis.log"),
	})
	return w, err
}

// end stops what build started.
func (w *world) end() {
	for _, p := range []*process.Process{w.service, w.redis} {
		if p != nil {
			p.Stop()
		}
	}
}

// start starts a gateway by its script.
func (w *world) start(ctx context.Context, g *gateway) (err error) {
	address, admin := freeAddress(), freeAddress()
	g.console = freeAddress()
	_, port, _ := net.SplitHostPort(address)
	env := []string{
		"BENCH_LISTEN=" + address, "BENCH_PORT=" + port, "BENCH_ADMIN=" + admin, "BENCH_SERVICE=" + w.service.Address,
		"BENCH_CONSOLE=" + g.console, "BENCH_CONSOLE_TOKEN=" + consoleToken, fmt.Sprint("BENCH_TEAMS=", houseTeams),
		"BENCH_KEY=" + key, "BENCH_WORK=" + w.work, "BENCH_DIR=" + filepath.Join(w.work, "run", g.name),
	}
	if w.redis != nil {
		env = append(env, "BENCH_REDIS=redis://"+w.redis.Address+"/0")
	}
	if err := os.MkdirAll(filepath.Join(w.work, "run", g.name),
		0o750); err != nil { //nolint:gosec // a name is that of a script beside this file
		return err
	}
	consoles := g.name == "sluice-consoles"
	if consoles {
		if err := fillHouse(w.redis.Address); err != nil {
			return err
		}
	}
	g.Process, err = process.Start(ctx, process.Config{
		Command: []string{filepath.Join(w.scripts, g.name)}, Core: w.core, Address: address, Env: env,
		Log: filepath.Join(w.work, "run", g.name, "output.log"),
	})
	if err == nil && consoles {
		err = awaitSums(g.console)
	}
	return err
}

// freeAddress returns an address without a listener.
func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // on loopback it never waits
	if err != nil {
		panic(fmt.Sprintf("no free port: %v", err))
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
