// Package redisclient is the process's only client of Redis: single, behind sentinels or in cluster mode. It keeps the
// connections, a circuit breaker for each node and a probe that closes it again, and reads how Redis persists its data.
//
// A call waits for a connection here, and its time begins when it is sent: from then on Redis may take the time until the context's
// deadline, but at least Config.Timeout. Calls whose context is [Aside] have their own connections and breaker.
//
// It never retries a command: only the caller knows which are idempotent. It knows nothing of teams, limits or tasks.
package redisclient

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// PoolSize is the most open connections to one Redis node.
	PoolSize = 64
	// SpareConnections is how many of them are opened in advance.
	SpareConnections = 24
	// asidePool and asideSpare are the same for calls whose context is Aside.
	asidePool, asideSpare = 16, 2
	// Connections is the most connections to one node, of both kinds.
	Connections = PoolSize + asidePool
	// buffer is the size of a connection's read and write buffer, in bytes. The pool keeps the connections of a burst, so the library's
	// 32 KiB, twice for each, would be the largest part of a process's growth over a day. Larger calls take several reads.
	buffer = 8 << 10
)

// Config configures [Open]. Every field but Reread, Roots, Plain, Learned and Measure is required.
type Config struct {
	Address Address
	// Reread returns the current address, for the user and password of a new connection: they may change. Nil, or not ok: those of
	// Address.
	Reread func() (a Address, ok bool)
	// Roots returns the authorities of Redis's certificate, at each new connection: they may change. Nil, or none: the system's.
	Roots func() *x509.CertPool
	// Timeout bounds one call on a request's path, and each step of opening a connection. Probes have at least a second.
	Timeout time.Duration
	// KeyPrefix begins the keys whose slots the probe may write to.
	KeyPrefix string
	// Away is the error of a call that was not sent because the breaker is open. Busy is wrapped if no connection was free or the
	// caller's time was over: that does not count against Redis.
	Away, Busy error
	// Aside replaces Away for calls whose context is [Aside]. Nil: they use the same connections as all others.
	Aside error
	Log   *slog.Logger
	// Plain shortens an error for people, without the address. Nil: it stays as it is.
	Plain func(error) error
	// Learned is called once with how Redis keeps its data, as soon as that is known. Nil: not called.
	Learned func(Facts)
	// Measure is called after each call with the command, the failure ("": none) and the duration. Nil: not called.
	Measure func(command, failure string, took time.Duration)
}

// Client is the client. It is safe for concurrent use. Create it with [Open] and end it with Close.
type Client struct {
	redis.UniversalClient
	config    Config
	aside     *Client // for calls whose context is Aside; nil: none, or this is it
	size      int     // bounds the connections to a node
	spare     int     // connections opened in advance
	conns     conns
	connected atomic.Pointer[func(ctx context.Context, run string) error] // called for each new connection; nil: not called
	full      atomic.Pointer[func()]                                      // called when a call got no connection; nil: not called

	mu     sync.Mutex
	guards []*guard
	policy string // Redis's eviction policy; empty: not known yet

	trouble chan struct{} // notifies the probe that a node is away, or new
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// Open builds the client. It connects to nothing yet.
func Open(config Config) *Client {
	redis.SetLogger(&quietLog{log: config.Log})
	if config.Roots == nil {
		config.Roots = func() *x509.CertPool { return nil }
	}
	if config.Plain == nil {
		config.Plain = func(err error) error { return err }
	}
	c := &Client{config: config, size: PoolSize, spare: SpareConnections}
	if config.Aside != nil {
		own := config
		own.Away, own.Learned, own.Log = config.Aside, nil, slog.New(slog.DiscardHandler) // the main client reports it
		c.aside = &Client{config: own, size: asidePool, spare: asideSpare}
		c.aside.open()
	}
	c.open()
	return c
}

func (c *Client) open() {
	ctx, stop := context.WithCancel(context.Background())
	c.trouble, c.stop = make(chan struct{}, 1), stop
	address, dialTimeout := c.config.Address, max(c.config.Timeout, leastDialTime)
	options := &redis.UniversalOptions{
		Addrs: address.hosts, DB: address.db, MasterName: address.master, IsClusterMode: address.topology == cluster,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		CredentialsProvider: c.credentials,
		SentinelUsername:    address.sentinelUser, SentinelPassword: address.sentinelPassword,
		MaxRetries:            -1, // only the caller knows which commands may be retried
		ContextTimeoutEnabled: true, ReadTimeout: callTimeout, WriteTimeout: callTimeout, PoolTimeout: callTimeout,
		DialTimeout: dialSteps * dialTimeout, DialerRetries: 1, PoolSize: c.size, PipelinePoolSize: -1,
		ReadBufferSize: buffer, WriteBufferSize: buffer,
		ConnMaxIdleTime: 5 * time.Minute,
		Dialer:          c.conns.dialer(address.tls, c.config.Roots, dialTimeout),
	}
	if address.topology == cluster {
		nodes := redis.NewClusterClient(options.Cluster())
		nodes.AddHook(divertHook{c.aside})
		nodes.AddHook(noRetryHook{})
		nodes.OnNewNode(func(node *redis.Client) { node.AddHook(c.newGuard(node)) })
		c.UniversalClient = nodes
	} else {
		options.OnConnect = c.connect
		c.UniversalClient = redis.NewUniversalClient(options)
		c.AddHook(divertHook{c.aside})
		c.AddHook(c.newGuard(nil))
	}
	c.ended.Go(func() { c.probe(ctx) })
}

// credentials returns the user and password for a new connection.
func (c *Client) credentials() (user, password string) {
	address := c.config.Address
	if c.config.Reread != nil {
		if now, ok := c.config.Reread(); ok {
			address = now
		}
	}
	return address.user, address.password
}

// WhyAway returns the last failure of a call or of a new connection, by [Config].Plain, of the node that failed last; nil: none failed yet.
func (c *Client) WhyAway() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var why error
	var at time.Time
	for _, g := range c.guards {
		if last := g.failure.Load(); last != nil && last.at.After(at) {
			why, at = g.whyAway(), last.at
		}
	}
	return why
}

// IsCluster reports whether the client talks to a cluster, whose nodes each have a part of the keys.
func (c *Client) IsCluster() bool { return c.config.Address.topology == cluster }

// DropConnections closes every connection, because a reply on one of them belonged to another command. The next calls dial
// anew.
func (c *Client) DropConnections() {
	c.config.Log.Error("a reply of Redis belongs to another command; all connections to it are dropped")
	for _, of := range []*Client{c, c.aside} {
		if of != nil {
			of.conns.drop("")
		}
	}
}

// busy is the error of a call that was not sent for a reason that does not count against Redis.
func (c *Client) busy(why error) error { return fmt.Errorf("%w: %w", c.config.Busy, why) }

// Close ends the probing and closes the connections.
func (c *Client) Close() error {
	c.stop()
	c.ended.Wait()
	err := c.UniversalClient.Close()
	if c.aside != nil {
		err = errors.Join(err, c.aside.Close())
	}
	return err
}

// OnConnect sets a function that is called for each new connection before anything else is sent over it, with the context of the call
// that needs it and Redis's run_id; empty if Redis refuses to return it. If the function returns an error, the connection is closed and
// the call fails with that error. It is not called for sentinels and nodes of a cluster.
func (c *Client) OnConnect(connected func(ctx context.Context, run string) error) {
	c.connected.Store(&connected)
	if c.aside != nil {
		c.aside.OnConnect(connected)
	}
}

// OnFull sets a function that is called when a call has waited for a connection for [PlaceWait] in vain.
func (c *Client) OnFull(full func()) {
	c.full.Store(&full)
	if c.aside != nil {
		c.aside.OnFull(full)
	}
}

func (c *Client) connect(ctx context.Context, conn *redis.Conn) error {
	connected := c.connected.Load()
	if connected == nil {
		return nil
	}
	info, err := conn.Info(context.WithValue(ctx, connecting{}, true), "server").Result()
	var said redis.Error
	if err != nil && !errors.As(err, &said) { // an error reply means that Redis refuses INFO
		return err
	}
	if strings.Contains(info, "redis_mode:sentinel") { // a sentinel has no data
		return nil
	}
	_, run, _ := strings.Cut(info, "run_id:")
	run, _, _ = strings.Cut(run, "\r")
	return (*connected)(ctx, run)
}

type aside struct{}

// Aside marks a context: its calls use separate connections and a separate breaker, so that they neither delay nor fail other calls. It
// is for views that people open, not for requests.
func Aside(ctx context.Context) context.Context { return context.WithValue(ctx, aside{}, true) }

// divertHook sends the calls whose context is Aside through another client.
type divertHook struct{ to *Client } // nil: to none

func (d divertHook) takes(ctx context.Context) bool { return d.to != nil && ctx.Value(aside{}) != nil }

// DialHook does not change dialling.
func (divertHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook diverts a call.
func (d divertHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if d.takes(ctx) {
			return d.to.Process(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook diverts several calls in one round trip.
func (d divertHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !d.takes(ctx) {
			return next(ctx, cmds)
		}
		pipe := d.to.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // it only queues
		}
		_, err := pipe.Exec(ctx)
		return err
	}
}

// noRetry is a command that a cluster's client does not repeat when the reply is lost, which MaxRetries does not prevent. The command may
// have taken effect, and a guard that opened meanwhile would report that it was not sent. Redirects to another node are still followed;
// MaxRedirects would end them too.
type noRetry struct{ redis.Cmder }

// NoRetry implements the library's interface.
func (noRetry) NoRetry() bool { return true }

// noRetryHook makes every command of a cluster's client a noRetry.
type noRetryHook struct{}

// DialHook does not change dialling.
func (noRetryHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook wraps a call, except DEL: the library splits it over nodes if it knows the type, and it is idempotent.
func (noRetryHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "del" {
			return next(ctx, cmd)
		}
		return next(ctx, noRetry{cmd})
	}
}

// ProcessPipelineHook wraps several calls.
func (noRetryHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		each := make([]redis.Cmder, len(cmds))
		for i, cmd := range cmds {
			each[i] = noRetry{cmd}
		}
		return next(ctx, each)
	}
}
