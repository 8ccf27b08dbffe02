package main

import (
	"runtime"
	"time"

	"sluicebench/load"
)

const megabyte = 1e6

// rest is how long a gateway is left alone before its memory is read.
const rest = time.Second

// bodies sends large ones at once. One small request goes before them, so that idle means ready and not asleep.
func bodies(_ *world, g *gateway) ([]float64, error) {
	const atOnce = 16
	runtime.GOMAXPROCS(1)
	conns, err := load.Dial(g.Address, atOnce)
	if err != nil {
		return nil, err
	}
	defer load.Close(conns)
	if err := conns[0].Exchange(g.requests.json); err != nil {
		return nil, err
	}
	time.Sleep(rest)
	idle, _ := g.Memory()
	took, err := load.Bodies(conns, g.requests.body)
	_, most := g.Memory()
	above := float64(most - idle)
	sent := float64(atOnce * len(g.requests.body))
	return []float64{float64(idle) / megabyte, above / megabyte, above / sent, sent / megabyte / took.Seconds()}, err
}

// streams opens so many and reads what the gateway has resident beside what it had without them.
func streams(n int) func(*world, *gateway) ([]float64, error) {
	return func(_ *world, g *gateway) ([]float64, error) {
		runtime.GOMAXPROCS(1)
		one, err := load.Dial(g.Address, 1)
		if err != nil {
			return nil, err
		}
		defer load.Close(one)
		if err := one[0].Exchange(g.requests.json); err != nil {
			return nil, err
		}
		time.Sleep(rest)
		before, _ := g.Memory()
		conns, err := load.Dial(g.Address, n)
		if err != nil {
			return nil, err
		}
		defer load.Close(conns)
		if err := load.Streams(conns, g.requests.idle); err != nil {
			return nil, err
		}
		time.Sleep(rest)
		after, _ := g.Memory()
		return []float64{float64(after-before) / 1e3 / float64(n)}, nil
	}
}
