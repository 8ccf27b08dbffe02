package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/peers"
	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway"
	"sluice/gateway/accounts"
	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/figures"
	"sluice/gateway/feed"
	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/quotas"
	"sluice/gateway/stores"
	"sluice/gateway/tasks"
	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/redisstore"
	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// kept is the state that outlives a request, all in Redis or all in this process's memory.
type kept struct {
	balances   teamBalances // the teams' limits and usage
	claims     claims       // their tasks
	queries    tasks.Rate   // the account's rates of task queries and of cancels
	cancels    tasks.Rate
	outcomes   stores.Outcomes       // of idempotent requests
	recent     recentStore           // counts and lines of all replicas
	cooling    accounts.Shared       // the throttled accounts at the service, shared by replicas; nil: in memory
	fleet      *limit.Fleet          // this process's share of the limits on concurrency
	join       func(context.Context) // waits until it has a share
	collector  *recent.Collector
	reconciled *recent.Reconciled
	redis      *redisclient.Client       // nil: all is in memory
	remote     *gateway.Remote           // how the gateway may use Redis; nil as above
	ledger     figures.House             // of all teams
	replicas   func() (alive, set int64) // nil as above
	alive      func() int64              // how many replicas share the accounts
	degraded   func() bool               // Redis is away, or does not know yet what teams spent while it was
	outbox     events                    // events and their deliveries
	works      mirror.Works              // tasks whose pictures wait to be stored
	pictures   store.Store               // of tasks; nil: they are not stored
	checks     []admin.Check
}

// teamAccounts are the teams' limits and usage.
type teamBalances interface {
	stores.Balances
	console.Balances
	figures.Balances
	console.Ledger
	// Open returns the number of a team's unsettled requests and tasks.
	Open(ctx context.Context, team string) (int, error)
	// Holds returns how many holds are open, and when the oldest was made.
	Holds(ctx context.Context) (open int, oldest time.Time, err error)
	// Close posts pending charges; the error counts those that could not be posted.
	Close(ctx context.Context) error
}

// events keep what happened, for hooks and streams.
type events interface {
	quotas.EventsOutbox
	feed.Outbox
}

// claims are the teams' tasks, for the gateway and for the console.
type claims interface {
	tasks.Claims
	figures.Tasks
}

// recentStore keeps the counts and lines of all replicas of the last two days.
type recentStore interface {
	recent.Store
	figures.Recent
}

// keptParts are the dependencies of kept.
type keptParts struct {
	log     *slog.Logger
	bounds  *bounds
	metrics *telemetry.Metrics
	alerts  limit.Alerts
}

// openKept opens the state: in Redis if its address is set, else in memory.
func openKept(ctx context.Context, c configuration, parts keptParts) (*kept, error) {
	k := &kept{
		recent: recent.NewMemory(time.Now), reconciled: recent.NewReconciled(nil), alive: func() int64 { return 1 },
		fleet: limit.NewFleet(c.Replicas, time.Now), join: func(context.Context) {}, degraded: func() bool { return false },
	}
	var err error
	if k.pictures, err = c.openPictures(); err != nil {
		return nil, err
	}
	if c.RedisURL == "" {
		now := c.clock
		if now == nil {
			now = time.Now
		}
		memory := limit.NewMemory(now)
		memory.Events, memory.Alerts = event.NewMemory(event.Kept(c.EventTTL), now), parts.alerts
		k.works, k.ledger = memory.Events.Works, limit.House{Memory: memory}
		k.outbox, k.balances, k.claims, k.outcomes = memory.Events, memory, cache.NewClaims(c.TaskTTL, time.Now),
			cache.NewOutcomes(c.TaskTTL, time.Now)
		k.queries, k.cancels = cache.NewQueries(c.TaskQueryRate, time.Now), cache.NewQueries(c.TaskQueryRate, time.Now)
	} else if err := k.inRedis(ctx, c, parts); err != nil {
		return nil, err
	}
	k.collector = recent.New(recent.Config{
		Store: k.recent, Now: time.Now, Crowded: parts.bounds.add(recent.Bound),
		Failed: func(err error, dropped int64) {
			if err == nil && dropped > 0 { // posts succeed again; that Redis is away is logged by the accounts
				parts.log.Warn("recent", "error",
					fmt.Sprintf("Redis did not take the counts of requests for so long that %d minutes of teams were dropped", dropped))
			}
		},
	})
	k.checks = append(k.checks, admin.Check{Name: "recent", State: k.collector.State})
	return k, nil
}

// inRedis opens the state in Redis.
func (k *kept) inRedis(ctx context.Context, c configuration, parts keptParts) error {
	s, file := c.Settings, c.teams
	client := openRedis(s, parts.log, parts.metrics, failover.MemoryFor(file), c.authorities.Roots)
	client.OnFull(parts.bounds.add(fmt.Sprintf("calls of Redis that wait for a connection: %s each",
		settings.ShowDuration(redisclient.PlaceWait))))
	if _, err := client.RequireNoEviction(ctx); err != nil {
		_ = client.Close()
		return settings.Faults{{Name: settings.Prefix + "REDIS_URL", Text: err.Error()}}
	}
	if err := redisstore.CheckMoney(ctx, client, file.Money); err != nil {
		_ = client.Close()
		return settings.Faults{{Name: settings.Prefix + "TEAMS_FILE", Text: err.Error()}}
	}
	shared := sharedBalances(client, s, file.Money, parts.log, time.Now)
	shared.Store.Alerts = parts.alerts
	tasks := cache.NewRedis(cache.RedisConfig{
		Client: client, Timeout: s.RedisTimeout, TTL: s.TaskTTL, Fresh: s.PollInterval, Rate: s.TaskQueryRate, Now: time.Now,
		Memory: shared.Memory, Fence: func(work func()) bool { return telemetry.Fence(parts.log, "tasks", work) },
	})
	k.outbox, k.redis, k.balances, k.claims, k.queries, k.cancels, k.outcomes, k.recent = shared.Store.Events, client, shared, tasks, tasks,
		tasks.Cancels, tasks, recent.NewRedis(client, time.Now)
	k.works = outbox.WorksOf(shared.Store.Events)
	k.reconciled = recent.NewReconciled(client)
	k.cooling = accounts.NewRedis(client, s.RedisTimeout)
	k.ledger, k.alive, k.degraded = shared, shared.Alive, shared.Degraded
	k.fleet, k.join = shared.Fleet(), shared.Join
	k.replicas = func() (alive, set int64) { return shared.Alive(), int64(s.Replicas) }
	const most = redisclient.PoolSize / 4 // a team's share of the connections
	k.remote = &gateway.Remote{Calls: most, Sight: tasks, Crowded: parts.bounds.add(
		fmt.Sprintf("calls of Redis for one team: %d at once, then no polls of unknown tasks", most))}
	k.checks = []admin.Check{{Name: "redis", State: func() error {
		if err := shared.State(); err != nil {
			return err
		}
		return client.EvictionFault()
	}}, {Name: "currency", Needed: true, State: shared.Store.MoneyFault}}
	return nil
}

// openHolds returns the number of open holds and the age of the oldest, as last counted.
func (k *kept) openHolds() (open int, age time.Duration, known bool) {
	open, oldest, err := k.balances.Holds(context.Background())
	if err != nil || oldest.IsZero() {
		return open, 0, err == nil
	}
	return open, max(time.Since(oldest), 0), true
}

// openOf counts a team's unsettled requests and tasks that this process knows.
func (k *kept) openOf(ctx context.Context, team string) (int, error) {
	if holds, err := k.balances.Open(ctx, team); err != nil || holds > 0 {
		return holds, err
	}
	page, err := k.claims.List(ctx, []string{team}, cache.Filter{Open: true, Size: 1})
	return page.Total, err
}

// openRedis opens the client of the settings' Redis, whose address is validated. need is how many bytes of Redis's memory the teams may
// take; 0: not known. roots returns the current authorities; nil: the system's.
func openRedis(s settings.Settings, log *slog.Logger, metrics *telemetry.Metrics, need int64,
	roots func() *x509.CertPool,
) *redisclient.Client {
	address, _ := redisclient.ParseAddress(s.RedisURL.Reveal())
	return redisclient.Open(redisclient.Config{
		Address: address, Reread: func() (redisclient.Address, bool) { return rereadRedis(s.RedisURLFile) }, Roots: roots,
		Timeout: s.RedisTimeout, KeyPrefix: cache.KeyPrefix, Log: log, Plain: peers.Plain,
		Away: limit.ErrAway, Busy: limit.ErrBusy, Aside: errAside,
		Measure: metrics.Redis,
		Learned: func(f redisclient.Facts) {
			for _, warning := range redisWarnings(f, need) {
				log.Warn("redis", "warning", warning)
			}
		},
	})
}

// errAside is the error of a call for the console or the admin listener that was not sent because such calls failed recently. The
// accounts have their own breaker.
var errAside = fmt.Errorf("%w: it did not answer the console lately", limit.ErrBusy)

// forPeople makes a server's requests use separate connections to Redis, so that viewers delay no team's request.
func forPeople(server *http.Server) {
	server.BaseContext = func(net.Listener) context.Context { return redisclient.Aside(context.Background()) }
}

// rereadRedis reads the address from its file again, if it has one: the password may have changed.
func rereadRedis(file string) (a redisclient.Address, ok bool) {
	if file == "" {
		return a, false
	}
	secret, err := files.Secret(file)
	if err != nil {
		return a, false
	}
	return redisclient.ParseAddress(secret.Reveal())
}

// sharedAccounts returns the accounts in Redis.
func sharedBalances(c *redisclient.Client, s settings.Settings, m unit.Money, log *slog.Logger, now func() time.Time) *failover.Failover {
	store := redisstore.New(c)
	store.OnDesync, store.Cluster, store.Money, store.Events = c.DropConnections, c.IsCluster(), m, outbox.New(c, event.Kept(s.EventTTL))
	store.OnOtherMoney = func(err error) { log.Error("currency", "error", err.Error()) }
	balances := failover.New(failover.Config{
		Store: store, Timeout: s.RedisTimeout, Refuse: s.OnStateLoss == settings.StateRefuse, Replicas: s.Replicas, Bridge: s.OutageBridge,
		Now: now, Why: c.WhyAway,
		Changed: func(away bool, lasted time.Duration) {
			if away {
				log.Error("Redis is away", slog.Any("error", c.WhyAway()))
			} else {
				log.Warn("Redis is back", slog.String("after", lasted.Round(time.Millisecond).String()))
			}
		},
		Miscounted: func(err error) { log.Warn("replicas", "error", err.Error()) }, // more are alive than the settings say
		Fence:      func(work func()) bool { return telemetry.Fence(log, "accounts", work) },
	})
	c.OnConnect(balances.Connected)
	return balances
}

// redisWarnings warns of a Redis that may lose its data, or has less memory than the teams may need.
func redisWarnings(f redisclient.Facts, need int64) (list []string) {
	if f.Forgets() {
		list = append(list, fmt.Sprintf("Redis appends to no file and has taken no snapshot in the %s since its start: usage, holds and "+
			"tasks are lost when it ends; set appendonly yes with appendfsync everysec", f.Uptime))
	}
	if f.MaxMemory > 0 && f.MaxMemory < need {
		list = append(list, fmt.Sprintf("maxmemory of Redis is %s, and the teams of the teams file may need %s: when its memory is full, "+
			"Redis counts as away; "+
			"raise maxmemory", settings.ByteSize(f.MaxMemory), settings.ByteSize(need)))
	}
	return list
}
