package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
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
	Listen  string            `default:"127.0.0.1:9000" placeholder:"ADDRESS" help:"Where to listen (${default}). PUT /faults there makes it fail."`
	Key     []string          `placeholder:"K" help:"A key that is accepted; may be repeated. None and no --account: any key is."`
	Account map[string]string `mapsep:"none" placeholder:"ID=K" help:"An account by that key, with tasks and a bill of its own; may be repeated."`
	Rate    map[string]int    `mapsep:"none" placeholder:"ID=N" help:"Requests to models per second of an account; may be repeated. None: no limit."`
	Prefix  string            `name:"header-prefix" default:"X-Service-" placeholder:"WORD" help:"The word in the service's header names, as in SLUICE_HEADER_PREFIX (${default})."`
	Bill    string            `placeholder:"FILE" help:"Write the service's bill as CSV to it, every second and at the end."`
}

// Run simulates the service until it is stopped.
func (s simulateCommand) Run(ctx context.Context, p program) error {
	accounts, err := simulator.Accounts(s.Account, s.Rate)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, "--listen", s.Listen)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	service := newSimulator(listener.Addr(), simulator.Config{
		Accounts: accounts, Keys: s.Key, HeaderPrefix: s.Prefix, Control: true,
		Log: func(format string, args ...any) { log.Info("request", "line", fmt.Sprintf(format, args...)) },
	})
	if _, err := fmt.Fprintf(p.stdout, "http://%s/api/v1\n", listener.Addr()); err != nil {
		return err
	}
	if s.Bill == "" {
		return serveUntil(ctx, wire.NewServer(service, log), listener)
	}
	var billing sync.WaitGroup
	billing.Go(func() { every(ctx, billEvery, func(context.Context) { _ = service.SaveBill(s.Bill) }) }) // the last one reports its error
	err = serveUntil(ctx, wire.NewServer(service, log), listener)
	billing.Wait()
	return errors.Join(err, service.SaveBill(s.Bill))
}

const billEvery = time.Second

// newSimulator returns a simulator at that address with realistic delays.
func newSimulator(address net.Addr, c simulator.Config) *simulator.Simulator {
	c.BaseURL, c.Pending, c.Running, c.FrameDelay = "http://"+address.String(), simulatedPending, simulatedRunning, simulatedFrame
	return simulator.New(c)
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
