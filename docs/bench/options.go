package main

import (
	"flag"
	"strings"
	"time"
)

// options are the command line's options.
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
	gateways := flags.String("gateways", "bare,bare-gogc400,sluice,sluice-redis,nginx,haproxy,litellm",
		"which, in their order of turns; the first is the reference")
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
