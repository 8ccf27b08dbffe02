package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sluice/policy/limit/failover"
	"sluice/policy/limit/redisstore"
	"sluice/telemetry"
)

const (
	redisDial  = 100 * time.Millisecond // one attempt to connect; the caller's time may end before
	redisPool  = 64                     // connections to one Redis
	redisSpare = 24                     // of those, that are made before they are needed
	redisTail  = 3 * time.Second        // no call lasts longer; each has a deadline of its own that is much shorter
)

// state is the one client of Redis: the connections, a guard for each node, and what is told of them.
type state struct {
	redis.UniversalClient
	log     *slog.Logger
	timeout time.Duration
	metrics *telemetry.Metrics // measures calls
	conns   conns

	mu     sync.Mutex
	guards []*guard
	policy string // Redis's eviction policy; empty: not known yet
	need   int64  // bytes that the teams' accounts may take of Redis's memory; 0: not known

	stop  context.CancelFunc
	ended sync.WaitGroup
}

// openState builds the client. It connects to nothing yet. need is how many bytes the teams' accounts may take; 0: nobody knows.
func openState(s settings, log *slog.Logger, metrics *telemetry.Metrics, need int64) *state {
	address, _ := readRedisAddress(s.RedisURL) // validate has read it
	ctx, stop := context.WithCancel(context.Background())
	c := &state{log: log, timeout: s.RedisTimeout, metrics: metrics, need: need, stop: stop}
	redis.SetLogger(newQuietLog(log))
	options := &redis.UniversalOptions{
		Addrs: address.hosts, DB: address.db, MasterName: address.master, IsClusterMode: address.kind == redisCluster,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		CredentialsProvider:   credentialsOf(s, address),
		MaxRetries:            -1, // whoever calls knows what may be sent again
		ContextTimeoutEnabled: true, ReadTimeout: redisTail, WriteTimeout: redisTail, PoolTimeout: redisTail,
		DialTimeout: redisDial, DialerRetries: 1, PoolSize: redisPool, PipelinePoolSize: -1,
		ConnMaxIdleTime: 5 * time.Minute,
		Dialer:          c.conns.dialer(address.tls),
	}
	if address.kind == redisCluster {
		cluster := redis.NewClusterClient(options.Cluster())
		cluster.AddHook(onceEach{})
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(c.newGuard(node)) })
		c.UniversalClient = cluster
	} else {
		c.UniversalClient = redis.NewUniversalClient(options)
		c.AddHook(c.newGuard(nil))
	}
	c.ended.Go(func() { c.probe(ctx) })
	return c
}

// credentialsOf asks for user and password at each connection: a file may have new ones by then.
func credentialsOf(s settings, address redisAddress) func() (string, string) {
	return func() (string, string) {
		if s.RedisURLFile != "" {
			if secret, err := readSecret(s.RedisURLFile); err == nil {
				if again, ok := readRedisAddress(secret); ok {
					return again.user, again.password
				}
			}
		}
		return address.user, address.password
	}
}

// mixed drops every connection: one of them has answered somebody else's question.
func (c *state) mixed() {
	c.log.Error("Redis answered another question than was asked; its connections are dropped")
	c.conns.drop("")
}

// close ends the probing and the connections.
func (c *state) close() {
	c.stop()
	c.ended.Wait()
	_ = c.Close()
}

// evictsText tells of a Redis that may throw limits away to make room.
const evictsText = "the eviction policy of Redis is %s: it may throw limits away when its memory is full; it has to be noeviction"

const noEviction = "noeviction"

// requirePolicy refuses to start with a Redis that evicts. One that is away is asked again when it is there.
func (c *state) requirePolicy(ctx context.Context) error {
	switch policy := c.learnPolicy(ctx); policy {
	case "":
		c.log.Warn("redis", "warning", "its eviction policy could not be read at the start; it has to be "+noEviction)
	case noEviction:
	default:
		return faults{{Name: prefix + "REDIS_URL", Text: fmt.Sprintf(evictsText, policy)}}
	}
	return nil
}

// learnPolicy asks for the eviction policy until it is known, and returns it. What else Redis says of how it keeps what it
// is told is logged then, where an operator should know it.
func (c *state) learnPolicy(ctx context.Context) string {
	c.mu.Lock()
	policy := c.policy
	c.mu.Unlock()
	if policy != "" {
		return policy
	}
	facts, known := c.askFacts(ctx)
	if !known {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy == "" {
		c.policy = facts.policy
		for _, warning := range facts.warnings(c.need) {
			c.log.Warn("redis", "warning", warning)
		}
	}
	return c.policy
}

// wellKept is nil where Redis keeps what it is told, or has not said yet.
func (c *state) wellKept() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy != "" && c.policy != noEviction {
		return fmt.Errorf(evictsText, c.policy)
	}
	return nil
}

// accounts are the shared accounts over this client.
func (c *state) accounts(s settings, now func() time.Time) *failover.Failover {
	inRedis := redisstore.New(c)
	inRedis.OnDesync = c.mixed
	_, inRedis.Cluster = c.UniversalClient.(*redis.ClusterClient)
	return failover.New(failover.Config{
		Store: inRedis, Timeout: s.RedisTimeout, Refuse: s.OnStateLoss == stateRefuse, Replicas: s.Replicas, Bridge: s.OutageBridge, Now: now,
		Changed: c.changed, Miscounted: c.miscounted,
	})
}

// changed logs that Redis is away, or back; nothing in between.
func (c *state) changed(away bool, lasted time.Duration) {
	if away {
		c.log.Error("Redis is away")
		return
	}
	c.log.Warn("Redis is back", slog.String("after", lasted.Round(time.Millisecond).String()))
}

// miscounted logs that other replicas are alive than the settings say.
func (c *state) miscounted(err error) { c.log.Warn("replicas", "error", err.Error()) }

// conns are the open connections, so that those to a server that is not the right one any more can be dropped.
type conns struct {
	mu   sync.Mutex
	open map[*tracked]string // and the address each was dialled to
}

type tracked struct {
	net.Conn
	all *conns
}

func (t *tracked) Close() error {
	t.all.mu.Lock()
	delete(t.all.open, t)
	t.all.mu.Unlock()
	return t.Conn.Close()
}

// dialer connects, and remembers the connection.
func (c *conns) dialer(secure bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: redisDial, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	dial := plain.DialContext
	if secure {
		dial = (&tls.Dialer{NetDialer: plain, Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t := &tracked{Conn: conn, all: c}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil {
			c.open = map[*tracked]string{}
		}
		c.open[t] = address
		return t, nil
	}
}

// drop closes the connections to an address, to all where it is empty. Whoever uses one sees an error, and the next call
// finds the server that is right now.
func (c *conns) drop(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t, to := range c.open {
		if address == "" || to == address {
			_ = t.Conn.Close()
		}
	}
}

// quietLog takes what the client library says of its own accord, at most one line a second: it says something for each
// connection that fails. The words of servers are left out, which may quote what was sent.
type quietLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
	more int
}

func newQuietLog(log *slog.Logger) *quietLog { return &quietLog{log: log} }

// Printf implements the library's interface.
func (q *quietLog) Printf(_ context.Context, format string, _ ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.last) < time.Second {
		q.more++
		return
	}
	q.last = time.Now()
	q.log.Debug("redis", slog.String("library", strings.TrimSpace(format)), slog.Int("left_out", q.more))
	q.more = 0
}
