package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/gateway/wire"
)

const (
	// ownFiles is how many file descriptors are kept for the admin listener's and the console's connections, those to Redis, telemetry
	// and files.
	ownFiles = adminConnections + consoleConnections + redisclient.Connections + 48
	// mostByDefault bounds the default, because an idle connection takes some 20 KiB of memory.
	mostByDefault = 16_384
	// adminConnections bounds the admin listener, out of ownFiles: probes and Prometheus need a few.
	adminConnections = 64
	// consoleConnections bounds the console's listener, out of ownFiles; one address has a quarter.
	consoleConnections = 128
	// adminIdle is how long a connection stays open there without a request. Probes make a new one each time.
	adminIdle = 5 * time.Second
)

// connectionsFor is how many clients' connections a process with that limit of open files may hold: each may need one
// to the service, too.
func connectionsFor(files uint64) int {
	half := (max(files, ownFiles) - ownFiles) / 2
	return int(max(1, min(max(half, files/4), mostByDefault)))
}

// listen opens an address. The error names the setting and the cause, without the address.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	listener, err := wire.Listen(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen there: %w", setting, addressless(err))
	}
	return listener, nil
}

func addressless(err error) error {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return errors.New(lookup.Err)
	}
	var outer *net.OpError
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// acceptor is a listener that logs when it cannot accept connections. net/http tries again by itself within a second, but
// only logs to its own error log.
type acceptor struct {
	net.Listener
	log    *slog.Logger
	failed atomic.Uint64 // times since the start
	fault  atomic.Pointer[string]
}

// Accept implements net.Listener.
func (a *acceptor) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	switch {
	case err == nil:
		if a.fault.Swap(nil) != nil {
			a.log.Info("connections are accepted again")
		}
	case !errors.Is(err, net.ErrClosed):
		a.failed.Add(1)
		text := addressless(err).Error()
		if a.fault.Swap(&text) == nil {
			a.log.Error("no connection can be accepted", "error", text)
		}
	}
	return conn, err
}

// state is the acceptor's line in readiness.
func (a *acceptor) state() error {
	if text := a.fault.Load(); text != nil {
		return fmt.Errorf("no connection can be accepted (%d times since the start): %s", a.failed.Load(), *text)
	}
	return nil
}
