// Package redisclient is the process's one client of Redis: single, behind sentinels or in cluster mode. It keeps the
// connections, a circuit breaker for each node and a probe that closes it again, and knows how Redis keeps its data.
//
// It sends no command twice by itself: the caller knows what may be sent again. It knows nothing of teams, limits or tasks.
package redisclient

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// callTimeout bounds every call. Each has its own deadline too, which is much shorter.
const callTimeout = 3 * time.Second

const (
	// PoolSize is how many connections are open to one Redis node at most.
	PoolSize = 64
	// SpareConnections is how many of them are made before they are needed.
	SpareConnections = 24
)

// Config configures [Open]. Every field but Reread, Learned and Measure is required.
type Config struct {
	Address Address
	// Reread returns the address as it is now, for the user and password of a new connection: they may change. Nil, or not
	// ok: those of Address.
	Reread func() (a Address, ok bool)
	// Timeout is how long the operator lets one call on a request's path take. The client's own calls have at least a second.
	Timeout time.Duration
	// KeyPrefix begins the keys whose slots the probe may write to.
	KeyPrefix string
	// Away is the error of a call that was not sent because the breaker is open.
	Away error
	Log  *slog.Logger
	// Learned is called once with how Redis keeps its data, as soon as that is known. Nil: not called.
	Learned func(Facts)
	// Measure is called after each call with the command, why it failed ("": it did not) and how long it took. Nil: not called.
	Measure func(command, failure string, took time.Duration)
}

// Client is the client. It is safe for concurrent use. Create it with [Open] and end it with Close.
type Client struct {
	redis.UniversalClient
	config    Config
	conns     conns
	connected atomic.Pointer[func(ctx context.Context, run string) error] // called for each connection; nil: for none

	mu     sync.Mutex
	guards []*guard
	policy string // Redis's eviction policy; empty: not known yet

	trouble chan struct{} // tells the probe that a node is away, or new
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// Open builds the client. It connects to nothing yet.
func Open(config Config) *Client {
	ctx, stop := context.WithCancel(context.Background())
	c := &Client{config: config, trouble: make(chan struct{}, 1), stop: stop}
	redis.SetLogger(newQuietLog(config.Log))
	address, dialTimeout := config.Address, max(config.Timeout, leastDialTime)
	options := &redis.UniversalOptions{
		Addrs: address.hosts, DB: address.db, MasterName: address.master, IsClusterMode: address.topology == cluster,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		CredentialsProvider:   c.credentials,
		MaxRetries:            -1, // the caller knows which commands may be sent again
		ContextTimeoutEnabled: true, ReadTimeout: callTimeout, WriteTimeout: callTimeout, PoolTimeout: callTimeout,
		DialTimeout: dialTimeout, DialerRetries: 1, PoolSize: PoolSize, PipelinePoolSize: -1,
		ConnMaxIdleTime: 5 * time.Minute,
		Dialer:          c.conns.dialer(address.tls, dialTimeout),
	}
	if address.topology == cluster {
		nodes := redis.NewClusterClient(options.Cluster())
		nodes.AddHook(noRetryHook{})
		nodes.OnNewNode(func(node *redis.Client) { node.AddHook(c.newGuard(node)) })
		c.UniversalClient = nodes
	} else {
		options.OnConnect = c.connect
		c.UniversalClient = redis.NewUniversalClient(options)
		c.AddHook(c.newGuard(nil))
	}
	c.ended.Go(func() { c.probe(ctx) })
	return c
}

// credentials are the user and password for a new connection.
func (c *Client) credentials() (user, password string) {
	address := c.config.Address
	if c.config.Reread != nil {
		if now, ok := c.config.Reread(); ok {
			address = now
		}
	}
	return address.user, address.password
}

// measure reports a call.
func (c *Client) measure(command, failure string, took time.Duration) {
	if c.config.Measure != nil {
		c.config.Measure(command, failure, took)
	}
}

// IsCluster reports whether the client talks to a cluster, whose nodes each have a part of the keys.
func (c *Client) IsCluster() bool { return c.config.Address.topology == cluster }

// DropConnections closes every connection, because a reply on one of them belonged to another command. The next calls dial
// anew.
func (c *Client) DropConnections() {
	c.config.Log.Error("a reply of Redis belongs to another command; all connections to it are dropped")
	c.conns.drop("")
}

// Close ends the probing and closes the connections.
func (c *Client) Close() error {
	c.stop()
	c.ended.Wait()
	return c.UniversalClient.Close()
}
