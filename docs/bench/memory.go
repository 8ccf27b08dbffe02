package main

import (
	"runtime"
	"time"

	"sluice/docs/bench/load"
)

const megabyte = 1e6

// rest is how long a gateway is left idle before its memory is read; its streams get some frames meanwhile.
const rest = 3 * time.Second

// bodies sends large ones concurrently, repeatedly, so that memory the first have left counts too. One small request precedes
// them, so that idle means ready and not asleep.
func bodies(_ *world, g *gateway) ([]float64, error) {
	const atOnce, times = 16, 3
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
	var took time.Duration
	for range times {
		once, err := load.Bodies(conns, g.requests.body)
		if err != nil {
			return nil, err
		}
		took += once
	}
	_, most := g.Memory()
	above := float64(most - idle)
	sent := float64(atOnce * len(g.requests.body))
	return []float64{float64(idle) / megabyte, above / megabyte, above / sent, times * sent / megabyte / took.Seconds()}, nil
}

// streams opens n and reads the gateway's resident memory beside that without them.
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
		after, most := g.Memory()
		each := func(bytes int64) float64 { return float64(bytes-before) / 1e3 / float64(n) }
		return []float64{each(after), each(most)}, nil
	}
}
