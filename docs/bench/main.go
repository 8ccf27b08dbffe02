// Sluicebench measures Sluice from outside beside other gateways: see README.md. The script run builds and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sluice/docs/bench/servers"
)

func main() {
	if err := play(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play plays one of the benchmark's programs. The servers take the address to listen at, and the proxy its service's.
func play(args []string) error {
	if len(args) < 2 {
		return errors.New("want a program and its arguments: service, bare, handler or measure")
	}
	if args[0] == "measure" {
		options, err := readOptions(args[1:])
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // what was started is stopped
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

// options are what the command line says.
type options struct {
	gateways, measures []string
	rounds             int
	lasts              time.Duration // of one gateway's turn in a round
	clients            int           // connections of the closed loop
	rate               int           // requests a second of the open loop
	core, others       string        // of the gateway; of load, service and Redis
	lock               string        // a file that is locked during rounds; empty: none
	scripts, work      string        // directories of the gateways' scripts, and for what they write
}

func readOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	gateways := flags.String("gateways", "bare,bare-gogc400,sluice,sluice-redis,nginx,haproxy,litellm", "which, in their order of turns; the first is the reference")
	measures := flags.String("measures", "json,open,frames,poll,bodies,streams-500,streams-2000", "which")
	seconds := flags.Float64("seconds", 3, "how long a gateway's turn in a round lasts")
	flags.IntVar(&o.rounds, "rounds", 5, "how often each gateway has its turn")
	flags.IntVar(&o.clients, "clients", 64, "connections of the closed loop")
	flags.IntVar(&o.rate, "rate", 1000, "requests a second of the open loop")
	flags.StringVar(&o.core, "core", "0", "core of the gateway")
	flags.StringVar(&o.others, "others", "1", "cores of the load, the service and Redis, as taskset takes them")
	flags.StringVar(&o.lock, "lock", "", "a file that is locked during rounds, for machines where several measure in turns")
	flags.StringVar(&o.scripts, "scripts", "", "set by run")
	flags.StringVar(&o.work, "work", "", "set by run")
	err = flags.Parse(args)
	o.gateways, o.measures = strings.Split(*gateways, ","), strings.Split(*measures, ",")
	o.lasts = time.Duration(*seconds * float64(time.Second))
	return o, err
}
