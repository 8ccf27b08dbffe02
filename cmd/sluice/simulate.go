package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/wire"
)

// The simulator's pace: slow enough to see a task in every state and a stream's frames arrive.
const (
	simulatedPending = 1 * time.Second
	simulatedRunning = 3 * time.Second
	simulatedFrame   = 120 * time.Millisecond
)

// simulateCommand is sluice simulate.
type simulateCommand struct {
	Listen string   `default:"127.0.0.1:9000" placeholder:"ADDRESS" help:"Where to listen (${default})."`
	Key    []string `placeholder:"K" help:"A key that is accepted; may be repeated. None: any key is."`
	Prefix string   `name:"header-prefix" default:"X-Service-" placeholder:"WORD" help:"The word in the service's header names, as in SLUICE_HEADER_PREFIX (${default})."`
}

// Run simulates the service until it is stopped.
func (s simulateCommand) Run(ctx context.Context, p program) error {
	listener, err := listen(ctx, "--listen", s.Listen)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	service := newSimulator(listener.Addr(), s.Key, s.Prefix, func(format string, args ...any) {
		log.Info("request", "line", fmt.Sprintf(format, args...))
	})
	if _, err := fmt.Fprintf(p.stdout, "http://%s/api/v1\n", listener.Addr()); err != nil {
		return err
	}
	return serveUntil(ctx, wire.NewServer(service, log), listener)
}

func newSimulator(address net.Addr, keys []string, prefix string, log func(format string, args ...any)) *simulator.Simulator {
	return simulator.New(simulator.Config{
		Keys: keys, HeaderPrefix: prefix, BaseURL: "http://" + address.String(), Log: log,
		Pending: simulatedPending, Running: simulatedRunning, FrameDelay: simulatedFrame,
	})
}

// serveUntil serves until ctx ends and then cuts running requests.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	cut := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer cut()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}
