package main

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"sluice/docs/bench/load"
	"sluice/docs/bench/servers"
)

// measure is one kind of figures about a gateway.
type measure struct {
	name, title string
	columns     []column
	without     []string // gateways that cannot do it
	with        []string // additional ones, only here
	fresh       bool     // every turn has a newly started gateway, because memory is not given back immediately
	turn        func(w *world, g *gateway) ([]float64, error)
}

// results are a measure's figures by gateway, round and column.
type results map[string][][]float64

// column is a figure of a measure.
type column struct {
	head     string
	decimals int
	ratio    bool // also shown relative to the reference of the same round
}

var tasksAlone = []string{"nginx", "haproxy", "litellm", "bare-gogc400"} // pass polls on, or have none

var allMeasures = []measure{
	{
		name: "json", title: "1 KB JSON, closed loop", columns: []column{
			{"requests/s", 0, true},
			{"CPU µs/request", 1, true},
			{"of its core %", 0, false},
		}, turn: func(w *world, g *gateway) ([]float64, error) { return closed(w, g, g.requests.json, 1) },
	},
	{
		name: "open", title: "1 KB JSON, open loop",
		columns: []column{
			{"p50 µs", 0, false},
			{"p99 µs", 0, false},
			{"added p50 µs", 0, true},
			{"added p99 µs", 0, true},
			{"CPU µs/request", 1, true},
		},
		turn: open,
	},
	{
		name: "frames", title: "streams of 50 frames, one every 5 ms",
		columns: []column{{"frames/s", 0, false}, {"CPU µs/frame", 1, true}, {"of its core %", 0, false}},
		turn:    func(w *world, g *gateway) ([]float64, error) { return closed(w, g, g.requests.frames, servers.Frames) },
	},
	{
		name: "poll", title: "polls of a task that has ended, closed loop",
		columns: []column{{"requests/s", 0, true}, {"CPU µs/request", 1, true}, {"of its core %", 0, false}},
		without: tasksAlone, with: []string{"handler"}, turn: poll,
	},
	{
		name: "bodies", title: "16 bodies of 13 MB at once, three times",
		columns: []column{{"idle RSS MB", 0, false}, {"peak above it MB", 0, false}, {"of the bodies", 2, false}, {"MB/s", 0, true}},
		fresh:   true, turn: bodies,
	},
	{name: "streams-500", title: "500 streams, a frame a second each", columns: streamColumns, fresh: true, turn: streams(500)},
	{
		name: "consoles", title: "a request every millisecond while no console is open, and while fifty are", columns: consoleColumns,
		without: allGateways, with: []string{"sluice-consoles"}, turn: consoles,
	},
	{
		name: "idle-consoles", title: "no request, while no console is open, and while fifty are", columns: idleColumns,
		without: allGateways, with: []string{"sluice-consoles"}, turn: idleConsoles,
	},
	{name: "streams-2000", title: "2,000 streams, a frame a second each", columns: streamColumns, fresh: true, turn: streams(2000)},
}

// allGateways are the default gateways; some measures have only others.
var allGateways = []string{"bare", "bare-gogc400", "sluice", "sluice-redis", "nginx", "haproxy", "litellm"}

var streamColumns = []column{{"RSS KB/stream", 1, true}, {"peak KB/stream", 1, true}}

const warm = 300 * time.Millisecond

// closed makes each client ask again as soon as it is answered. An answer counts as units units.
func closed(w *world, g *gateway, request []byte, units float64) ([]float64, error) {
	runtime.GOMAXPROCS(1) // threads that take turns on one core cost more than they gain
	conns, err := load.Dial(g.Address, w.clients)
	if err != nil {
		return nil, err
	}
	defer load.Close(conns)
	if _, err := load.Closed(conns, request, warm); err != nil {
		return nil, err
	}
	cpu, begun := g.CPU(), time.Now()
	n, err := load.Closed(conns, request, w.lasts)
	took, used := time.Since(begun), g.CPU()-cpu
	count := float64(n) * units
	return []float64{count / took.Seconds(), microseconds(used) / count, 100 * used.Seconds() / took.Seconds()}, err
}

// open sends requests at a steady rate: to the service itself, then through the gateway.
func open(w *world, g *gateway) ([]float64, error) {
	runtime.GOMAXPROCS(4) // a thread in a kernel sleep keeps its place for a while
	direct, err := steady(w, g, w.service.Address)
	if err != nil {
		return nil, err
	}
	cpu := g.CPU()
	through, err := steady(w, g, g.Address)
	if err != nil {
		return nil, err
	}
	used := g.CPU() - cpu
	at := func(q float64) (whole, added float64) {
		whole = microseconds(load.Quantile(through, q))
		return whole, whole - microseconds(load.Quantile(direct, q))
	}
	p50, added50 := at(0.5)
	p99, added99 := at(0.99)
	return []float64{p50, p99, added50, added99, microseconds(used) / float64(len(through)+w.clients)}, nil
}

// steady sends the JSON request at the gateway's rate. A few are sent before, to make the connections.
func steady(w *world, g *gateway, address string) ([]time.Duration, error) {
	conns, err := load.Dial(address, w.clients)
	if err != nil {
		return nil, err
	}
	defer load.Close(conns)
	for _, conn := range conns {
		if err := conn.Exchange(g.requests.json); err != nil {
			return nil, err
		}
	}
	return load.Open(conns, g.requests.json, g.rate, w.lasts)
}

// poll makes the clients poll a task that the gateway knows to have ended.
func poll(w *world, g *gateway) ([]float64, error) {
	conns, err := load.Dial(g.Address, 1)
	if err != nil {
		return nil, err
	}
	defer load.Close(conns)
	if g.name != "handler" {
		if err := conns[0].Exchange(g.requests.create); err != nil {
			return nil, err
		}
	}
	for n := 0; ; n++ { // the creation's answer is the task's state for an interval
		answer, err := conns[0].Ask(g.requests.poll)
		if err != nil || n == 50 {
			return nil, fmt.Errorf("the task does not end: %w", err)
		}
		if bytes.Contains(answer, []byte("SUCCEEDED")) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return closed(w, g, g.requests.poll, 1)
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

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
