package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	Listen string   `default:"127.0.0.1:9000" placeholder:"ADDRESS" help:"Where to listen (${default})."`
	Key    []string `placeholder:"K" help:"A key that is accepted; may be repeated. None: any key is."`
	Prefix string   `name:"header-prefix" default:"X-Service-" placeholder:"WORD" help:"The word in the service's header names, as in SLUICE_HEADER_PREFIX (${default})."`
	Bill   string   `placeholder:"FILE" help:"Write the service's bill as CSV to it, every second and at the end."`
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
	if s.Bill == "" {
		return serveUntil(ctx, wire.NewServer(service, log), listener)
	}
	var billing sync.WaitGroup
	billing.Go(func() { every(ctx, billEvery, func(context.Context) { _ = s.writeBill(service) }) }) // the last one reports its error
	err = serveUntil(ctx, wire.NewServer(service, log), listener)
	billing.Wait()
	return errors.Join(err, s.writeBill(service))
}

const billEvery = time.Second

// writeBill replaces the file, so that a reader finds a whole one.
func (s simulateCommand) writeBill(service *simulator.Simulator) error {
	var text bytes.Buffer
	err := service.Bill(&text)
	if err == nil {
		err = os.WriteFile(s.Bill+".new", text.Bytes(), 0o600)
	}
	if err == nil {
		err = os.Rename(s.Bill+".new", s.Bill)
	}
	if err != nil {
		return fmt.Errorf("--bill: %w", err)
	}
	return nil
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
