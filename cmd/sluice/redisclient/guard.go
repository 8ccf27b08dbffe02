package redisclient

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// The breaker of one Redis node opens after failuresInRow consecutive failures, or when half of the calls of one window fail.
const (
	failuresInRow = 5
	failuresOf    = 20          // the least number of calls in a window for the second condition
	breakerWindow = time.Second // the least window
)

// guard is the circuit breaker of one node and the places at its connections, as a hook on the node's client. While the breaker is open,
// only the probe is sent, which closes it again.
type guard struct {
	client  *Client
	node    *redis.Client // nil: Redis is one node, or behind sentinels
	address string        // of the node; empty as above
	breaker *gobreaker.CircuitBreaker[struct{}]
	places  *places
	key     atomic.Pointer[string] // of a call that failed or was not sent: the probe writes to its slot
	since   atomic.Int64           // when the breaker opened, in Unix nanoseconds
	stale   atomic.Bool            // the breaker opened, and older connections are still open
	warm    atomic.Bool            // spare connections were opened since the breaker opened
	probed  atomic.Bool            // a probe is running
	answers atomic.Bool            // the node answered the probe
	failure atomic.Pointer[failure]
}

func (c *Client) newGuard(node *redis.Client) *guard {
	g := &guard{client: c, node: node}
	if node != nil {
		g.address = node.Options().Addr
	}
	g.places = &places{most: c.size - ownConnections, make: g.connect}
	g.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: g.address, MaxRequests: 1, Interval: windowOf(c.config.Timeout), Timeout: probeEvery / 2,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.ConsecutiveFailures >= failuresInRow || n.Requests >= failuresOf && 2*n.TotalFailures >= n.Requests
		},
		OnStateChange: g.changed,
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards = append(c.guards, g)
	c.beginProbing()
	return g
}

// windowOf returns the breaker's window: long enough for failuresInRow calls that time out one after another.
func windowOf(timeout time.Duration) time.Duration {
	return max(breakerWindow, 2*failuresInRow*timeout)
}

// changed logs that a node of a cluster is away or back. For a single Redis the user of the client logs it.
func (g *guard) changed(_ string, from, to gobreaker.State) {
	if to == gobreaker.StateOpen {
		g.warm.Store(false)
		g.stale.Store(true)
		g.places.fail(g.client.config.Away)
		g.client.beginProbing()
	}
	if g.node == nil {
		return
	}
	log := g.client.config.Log.With(slog.String("node", g.address))
	switch {
	case from == gobreaker.StateClosed:
		g.since.Store(time.Now().UnixNano())
		log.Error("a node of Redis is away", slog.Any("error", g.whyAway()))
	case to == gobreaker.StateClosed:
		log.Warn("a node of Redis is back", slog.String("after", time.Since(time.Unix(0, g.since.Load())).Round(time.Millisecond).String()))
	}
}

// DialHook does not change dialling.
func (g *guard) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook guards a call.
func (g *guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err, sent := g.do(ctx, func(ctx context.Context) error { return next(ctx, cmd) }, cmd)
		if !sent || sentinelsFailed(err) {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook guards several calls in one round trip.
func (g *guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err, sent := g.do(ctx, func(ctx context.Context) error { return next(ctx, cmds) }, cmds[0])
		if !sent || sentinelsFailed(err) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

// calling sends a call, or several in one round trip.
type calling func(context.Context) error

// do sends a call when it has a place, unless the breaker is open, and counts a failure. A call that was not sent, because its caller
// has left or no connection was free, is no failure.
func (g *guard) do(ctx context.Context, next calling, cmd redis.Cmder) (err error, sent bool) { //nolint:revive // sent is about the error
	if opens(cmd) || ctx.Value(connecting{}) != nil { // a new connection's first commands have a timeout each
		return next(lasting(ctx, g.client.config.Timeout)), true
	}
	if ctx.Value(probing{}) != nil { // a probe passes an open breaker
		failed := g.send(lasting(ctx, max(g.client.config.Timeout, probeTime)), next, cmd, &err)
		g.answers.Store(failed == nil)
		return err, true
	}
	lasts := timeOf(ctx, g.client.config.Timeout)
	if ctx.Value(making{}) != nil {
		lasts = g.client.config.Timeout
	} else if err = ctx.Err(); err != nil {
		return g.client.busy(err), false
	}
	if g.breaker.State() != gobreaker.StateClosed {
		g.remember(cmd)
		return g.client.config.Away, false
	}
	if ctx.Value(making{}) != nil { // noPlace counts its failure if a call fails because of it
		_ = g.send(lasting(ctx, lasts), next, cmd, &err)
		return err, true
	}
	if err = g.places.take(ctx); err != nil {
		return g.noPlace(err), false
	}
	defer func() { // after any error but an error reply the library has closed the connection
		var said redis.Error
		g.places.give(sent && err != nil && !errors.As(err, &said))
	}()
	_, failed := g.breaker.Execute(func() (struct{}, error) {
		sent = true
		return struct{}{}, g.send(lasting(ctx, lasts), next, cmd, &err)
	})
	if !sent {
		err = g.client.config.Away
	}
	if failed != nil {
		g.remember(cmd)
	}
	return err, sent
}

// send sends a call. It stores its error in err, and returns it if it is a failure of the node.
func (g *guard) send(ctx context.Context, next calling, cmd redis.Cmder, err *error) (failed error) {
	begun := time.Now()
	*err = ofSentinels(next(ctx), g.client.config.Plain)
	if failed = g.judge(*err); failed != nil {
		g.failed(failed)
	}
	if measure := g.client.config.Measure; measure != nil {
		measure(operation(cmd), callFailure(failed), time.Since(begun))
	}
	return failed
}

// noPlace returns the error of a call that got no place. If no connection could be opened for it, that is a failure of the node.
func (g *guard) noPlace(why error) error {
	switch {
	case errors.Is(why, errNoPlace):
		if full := g.client.full.Load(); full != nil {
			(*full)()
		}
		return g.client.busy(why)
	case errors.Is(why, context.Canceled), errors.Is(why, errNoConnection): // what failed is counted when the attempt to connect ends
		return g.client.busy(why)
	case errors.Is(why, g.client.config.Away):
		return why
	}
	_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, why })
	return why
}

// opens reports whether a command is one of a new connection's first, which the library sends inside the call that needs it.
func opens(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "select", "client", "readonly":
		return true
	}
	return false
}

// operation returns the command's name for the metrics. Other commands are "other", so that the names are few; Sluice's background work
// sends some of those too, such as hget, mget and sadd.
func operation(cmd redis.Cmder) string {
	switch name := cmd.Name(); name {
	case "evalsha", "eval", "script", "get", "set", "setnx", "del", "exists", "hlen", "hscan", "hmget", "smembers", "sscan", "zrangebyscore",
		"zrange", "zrevrange", "zcount", "zrem", "info", "ping":
		return name
	}
	return "other"
}

// callFailure returns why a call failed: refused, timeout or lost; empty: it succeeded.
func callFailure(err error) string {
	var said redis.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &said):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return "timeout"
	}
	return "lost"
}

// remember stores a key of this node, so that the probe can write to the same slot.
func (g *guard) remember(cmd redis.Cmder) {
	args, at := cmd.Args(), 1
	if name := cmd.Name(); name == "evalsha" || name == "eval" {
		at = 3
	}
	if len(args) <= at {
		return
	}
	if key, ok := args[at].(string); ok && strings.HasPrefix(key, g.client.config.KeyPrefix) {
		g.key.Store(&key)
	}
}

// judge returns the error if it is a failure of the node. A script's error is an answer, and so is a redirect to another node.
func (g *guard) judge(err error) error {
	var said redis.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return nil
	case sentinelsFailed(err): // there is no connection, whatever they said
		return err
	case errors.Is(err, redis.Nil):
		return nil
	case !errors.As(err, &said):
		return err
	}
	text := strings.TrimPrefix(said.Error(), "ERR ") // managed proxies prefix Redis's error
	if strings.HasPrefix(text, "READONLY") {
		g.drop() // it is no longer the master; the next connection finds the new one
		return err
	}
	for _, word := range []string{
		"LOADING", "OOM", "MISCONF", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "NOAUTH", "WRONGPASS",
		"NOPERM", "max number of clients",
	} {
		if strings.HasPrefix(text, word) {
			return err
		}
	}
	return nil
}

// failure is why a call failed, or no connection could be opened.
type failure struct {
	err error
	at  time.Time
}

// failed records a failure of the node. A connection that this process closed itself says nothing.
func (g *guard) failed(err error) {
	if !errors.Is(err, net.ErrClosed) {
		g.failure.Store(&failure{err: err, at: time.Now()})
	}
}

// whyAway returns the node's last failure; nil: none yet.
func (g *guard) whyAway() error {
	if last := g.failure.Load(); last != nil {
		return Plain(last.err, g.client.config.Plain)
	}
	return nil
}
