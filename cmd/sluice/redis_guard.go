package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"sluice/policy/limit"
)

// The breaker of one Redis node: it stops asking after so many failures in a row, or where half of the calls of a
// second fail, and looks every so often whether the node is back.
const (
	failuresInRow = 5
	failuresOf    = 20 // calls in breakerWindow, of which half fail
	breakerWindow = time.Second
	probeEvery    = 250 * time.Millisecond
	probeTime     = time.Second // a probe's least: it may have to dial first, over a slow network
)

// guard is the breaker of one node, as a hook on its client. While it is open no request asks: only the probe does.
type guard struct {
	state   *state
	node    *redis.Client // nil: all there is
	address string        // of the node; empty: all there is
	breaker *gobreaker.CircuitBreaker[struct{}]
	key     atomic.Pointer[string] // one that failed or was not asked for, to look with
	since   atomic.Int64           // Unix nanoseconds of its opening
	stale   atomic.Bool            // it opened, and the connections from before are still there
	warm    atomic.Bool            // spare connections were made since
	looking atomic.Bool            // a probe is under way
	answers atomic.Bool            // the node answered it
}

func (c *state) newGuard(node *redis.Client) *guard {
	g := &guard{state: c, node: node}
	if node != nil {
		g.address = node.Options().Addr
	}
	address := g.address
	g.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: address, MaxRequests: 1, Interval: breakerWindow, Timeout: probeEvery / 2,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.ConsecutiveFailures >= failuresInRow || n.Requests >= failuresOf && 2*n.TotalFailures >= n.Requests
		},
		OnStateChange: g.changed,
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards = append(c.guards, g)
	return g
}

// changed logs that a node of a cluster is away, or back; nothing in between. Of a single Redis the accounts tell.
func (g *guard) changed(_ string, from, to gobreaker.State) {
	if to == gobreaker.StateOpen {
		g.warm.Store(false)
		g.stale.Store(true)
	}
	if g.node == nil {
		return
	}
	log := g.state.log.With(slog.String("node", g.address))
	switch {
	case from == gobreaker.StateClosed:
		g.since.Store(time.Now().UnixNano())
		log.Error("a node of Redis is away")
	case to == gobreaker.StateClosed:
		log.Warn("a node of Redis is back", slog.String("after", time.Since(time.Unix(0, g.since.Load())).Round(time.Millisecond).String()))
	}
}

// DialHook leaves dialling alone.
func (g *guard) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook guards a call.
func (g *guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err, asked := g.do(ctx, func() error { return next(ctx, cmd) }, cmd)
		if !asked {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook guards several calls in one round trip.
func (g *guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err, asked := g.do(ctx, func() error { return next(ctx, cmds) }, cmds[0])
		if !asked {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

func (g *guard) do(ctx context.Context, next func() error, cmd redis.Cmder) (err error, asked bool) { //nolint:revive // asked is about the error
	switch cmd.Name() {
	case "hello", "auth", "select", "client", "readonly": // a connection's first words, inside the call that needs it
		return next(), true
	}
	if err := ctx.Err(); err != nil { // the library would not ask either, and that says nothing of the node
		return err, false
	}
	call := func() (struct{}, error) {
		asked = true
		begun := time.Now()
		err = next()
		judged := g.judge(err)
		g.state.metrics.Redis(operation(cmd), callFailure(judged), time.Since(begun))
		return struct{}{}, judged
	}
	if ctx.Value(probing{}) != nil { // no breaker stands in its way
		_, failed := call()
		g.answers.Store(failed == nil && ctx.Err() == nil)
		return err, true
	}
	if g.breaker.State() != gobreaker.StateClosed {
		g.remember(cmd)
		return limit.ErrAway, false
	}
	_, failed := g.breaker.Execute(call)
	if !asked {
		return limit.ErrAway, false
	}
	if failed != nil {
		g.remember(cmd)
	}
	return err, true
}

// operation is the command's name, of those that are sent.
func operation(cmd redis.Cmder) string {
	switch name := cmd.Name(); name {
	case "evalsha", "eval", "script", "get", "set", "setnx", "del", "exists", "hgetall", "hmget", "smembers", "sscan", "zrangebyscore", "zrange", "zrevrange", "zcount", "zrem", "info", "ping":
		return name
	}
	return "other"
}

// callFailure is why a call failed, in one word of few; empty where it did not.
func callFailure(err error) string {
	var said redis.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &said):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return "timeout"
	}
	return "lost"
}

// remember keeps a key of this node: whether the node is back is seen by a write beside it.
func (g *guard) remember(cmd redis.Cmder) {
	args, at := cmd.Args(), 1
	if name := cmd.Name(); name == "evalsha" || name == "eval" {
		at = 3
	}
	if len(args) <= at {
		return
	}
	if key, ok := args[at].(string); ok && strings.HasPrefix(key, keyPrefix) {
		g.key.Store(&key)
	}
}

const keyPrefix = "sl1:"

// judge tells failures of the node from answers of it. A script's error is an answer, and so is the way to another node.
func (g *guard) judge(err error) error {
	var said redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil), errors.Is(err, context.Canceled):
		return nil
	case !errors.As(err, &said):
		return err
	}
	text := strings.TrimPrefix(said.Error(), "ERR ") // managed proxies put that before what Redis says
	if strings.HasPrefix(text, "READONLY") {
		g.state.conns.drop(g.address) // it was the master once; the next connection finds the new one
		return err
	}
	for _, word := range []string{"LOADING", "OOM", "MISCONF", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "NOAUTH", "WRONGPASS", "NOPERM", "max number of clients"} {
		if strings.HasPrefix(text, word) {
			return err
		}
	}
	return nil
}

// probing marks the calls that may pass an open breaker.
type probing struct{}

// probe looks whether nodes that are away are back, until ctx ends. Each is looked at for itself: one that hangs keeps no
// other away.
func (c *state) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		guards, known := c.guards, c.policy != ""
		c.mu.Unlock()
		if !known {
			if policy := c.learnPolicy(ctx); policy != "" && policy != noEviction {
				c.log.Error("redis", slog.String("error", fmt.Sprintf(evictsText, policy)))
			}
		}
		for _, g := range guards {
			switch closed := g.breaker.State() == gobreaker.StateClosed; {
			case closed && known && g.warm.CompareAndSwap(false, true):
				c.ended.Go(func() { g.timed(ctx, g.warmUp) })
			case !closed && g.looking.CompareAndSwap(false, true):
				c.ended.Go(func() {
					g.timed(ctx, g.look)
					g.looking.Store(false)
				})
			}
		}
	}
}

func (g *guard) timed(ctx context.Context, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, max(g.state.timeout, probeTime))
	defer cancel()
	do(ctx)
}

// look asks a node that is away, and closes its breaker where it answers. It writes, because a node that only reads is no
// use. Connections from before are dropped first: one whose packets vanish would hang until the probe's time is over. New
// ones are made before requests need them, because one that has to dial over a slow network fails, and a few of those
// open the breaker again.
func (g *guard) look(ctx context.Context) {
	ctx = context.WithValue(ctx, probing{}, true)
	if g.stale.CompareAndSwap(true, false) {
		g.state.conns.drop(g.address)
	}
	g.answers.Store(false)
	for err := net.ErrClosed; errors.Is(err, net.ErrClosed); { // the library finds out one by one that they are
		err = g.ask(ctx)
	}
	if !g.answers.Load() {
		return
	}
	g.warmUp(ctx)
	g.warm.Store(true)
	_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, nil })
}

// ask asks the node itself first, where there are several: its key may be another's by now, whose guard hears the answer
// to the write.
func (g *guard) ask(ctx context.Context) error {
	key := g.key.Load()
	if g.node != nil {
		err := g.node.Ping(ctx).Err()
		if errors.Is(err, redis.ErrClosed) { // the client, by the library: the cluster has the node no more
			g.state.forget(g)
		}
		if err != nil || key == nil { // nil: it was asked for nothing but the cluster's slots
			return err
		}
	}
	if key != nil {
		return g.state.Set(ctx, beside(*key), "", time.Minute).Err()
	}
	return g.state.Ping(ctx).Err()
}

// forget drops the guard of a node that has left.
func (c *state) forget(gone *guard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards = slices.DeleteFunc(slices.Clone(c.guards), func(g *guard) bool { return g == gone }) // probe may be reading the list
}

// warmUp makes spare connections: who has to make one waits for its first words too, which over a slow network is more
// than a call's time. The library's own spare ones are only dialled.
func (g *guard) warmUp(ctx context.Context) {
	client := g.node
	if client == nil {
		client, _ = g.state.UniversalClient.(*redis.Client)
	}
	if client == nil { // all of a cluster's nodes have guards of their own
		return
	}
	var spare [redisSpare]*redis.Conn // each is held until all are there, so that none is the same
	var making sync.WaitGroup
	for i := range spare {
		spare[i] = client.Conn()
		making.Go(func() { _ = spare[i].Ping(ctx).Err() })
	}
	making.Wait()
	for _, conn := range spare {
		_ = conn.Close()
	}
}

// beside is a key in the slot of another, for the probe alone.
func beside(key string) string {
	if end := strings.IndexByte(key, '}'); end >= 0 {
		return key[:end+1] + ":probe"
	}
	return keyPrefix + "{" + key + "}:probe"
}
