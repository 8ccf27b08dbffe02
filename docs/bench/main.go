// Sluicebench measures Sluice and other gateways from outside: see README.md. The script run builds and calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"sluice/docs/bench/servers"
)

func main() {
	if err := play(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play plays one of the benchmark's programs. The servers take their listen address, and the proxy also its service's.
func play(args []string) error {
	if len(args) < 2 {
		return errors.New("want a program and its arguments: service, bare, handler or measure")
	}
	if args[0] == "measure" {
		options, err := readOptions(args[1:])
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // stop all that was started
		defer stop()
		return measureAll(ctx, options)
	}
	listener, err := net.Listen("tcp", args[1]) //nolint:noctx // on loopback it never waits
	if err != nil {
		return err
	}
	switch {
	case args[0] == "service":
		return servers.Service(listener)
	case args[0] == "handler":
		return servers.Handler(listener)
	case args[0] == "bare" && len(args) == 3:
		return servers.Bare(listener, args[2])
	}
	return fmt.Errorf("no program %q with these arguments", args[0])
}
