package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/cmd/sluice/redisclient"
	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/figures"
	"sluice/gateway/oidc"
	"sluice/gateway/wire"
	"sluice/policy/limit"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// tasks keep claims and answers, the account's rates of queries and cancels, and the outcomes of requests that run once.
type tasks struct {
	claims   claims
	queries  gateway.Queries
	cancels  gateway.Queries
	outcomes gateway.Outcomes
}

// claims are the teams' tasks, for the gateway and for the console.
type claims interface {
	gateway.Claims
	figures.Tasks
}

// settleFor bounds the time to post pending charges and claims when the process ends.
const settleFor = 5 * time.Second

// accounts are the teams' limits and usage, in Redis or in memory.
type accounts interface {
	gateway.Accounts
	console.Accounts
	figures.Accounts
	console.Ledger
	// Open returns how many requests and tasks of a team are not settled.
	Open(ctx context.Context, team string) (int, error)
	// Holds returns how many holds are open, and when the oldest was made.
	Holds(ctx context.Context) (open int, oldest time.Time, err error)
	// Close posts pending charges; the error counts those that could not be posted.
	Close(ctx context.Context) error
}

// process is a running gateway: its handler, its two listeners, its log. Make it with [open] and run it with serve.
type process struct {
	configuration
	log     *telemetry.Log
	gateway *gateway.Gateway
	public  *http.Server
	admin   *http.Server
	doors   struct {
		public  *acceptor
		admin   net.Listener
		console net.Listener // nil: there is no console
	}
	clients  wire.Listeners // connections to each listener
	bounds   *bounds        // that protect this process; each part registers its own
	tells    *telemetry.Telemetry
	accounts accounts
	tasks    tasks
	redis    *redisclient.Client                                     // nil: the accounts are in memory
	versions func(ctx context.Context, days []int) ([]uint64, error) // of past days in Redis
	alive    func() int64                                            // how many replicas share the accounts
	checks   []admin.Check
	works    []func(context.Context) // run beside the listeners, until their context ends
	used     lastUse
	inForce  consoleTeams
	// upstreamKey is the service's key in force, with which the console may sign its sessions.
	upstreamKey atomic.Pointer[gateway.Secret]
	roster      *roster        // nil: the directory was not opened yet
	console     *consoleServer // nil: there is no console
	// identities verify tokens that stand in place of keys.
	identities *oidc.Verifier
	phase      atomic.Pointer[string] // why the process is not ready; nil: it is ready
	recent     *recent.Collector      // of what requests do
	lately     lately                 // what this process and other replicas did in the last two days
}

// open opens the listeners and builds everything, without serving yet. The caller closes the log.
func open(ctx context.Context, c configuration, log *telemetry.Log) (*process, error) {
	logger := log.Logger()
	public, err := listen(ctx, prefix+"LISTEN", c.Listen)
	if err != nil {
		return nil, err
	}
	p := &process{configuration: c, log: log, bounds: newBounds(time.Now, logger)}
	p.identities = oidc.NewVerifier(oidc.VerifierConfig{Now: time.Now, Hangs: p.bounds.add("the wait of a token for its issuer's keys: 2 s")})
	p.doors.public = &acceptor{Listener: public, log: logger}
	p.doors.admin, err = listen(ctx, prefix+"ADMIN_LISTEN", c.AdminListen)
	if err != nil {
		_ = public.Close()
		return nil, err
	}
	if p.doors.console, err = p.listenConsole(ctx); err != nil {
		p.closeDoors()
		return nil, err
	}
	p.enter("starting")
	p.checks = []admin.Check{{Name: "accept", State: p.doors.public.state}, {Name: "connections", State: func() error { return p.clients.State() }}, {Name: "bounds", State: p.bounds.state}, {Name: "log", State: p.logState}, {Name: "console", State: p.consoleState}}
	if err = p.openTelemetry(ctx); err == nil {
		err = p.openAccounts(ctx)
	}
	if err != nil {
		p.closeTelemetry()
		p.closeDoors()
		return nil, err
	}
	p.openRecent()
	p.gateway = gateway.New(c.gatewayConfig(), p.gatewayDeps())
	p.public = wire.NewServer(p.gateway, logger)
	p.public.TLSConfig = c.tlsConfig()
	p.clients.Bound(p.public, wire.Config{
		Listener: "public", Setting: prefix + "MAX_CONNECTIONS", Most: c.MaxConnections, Proxies: prefixes(c.TrustedProxies), Begun: wire.AfterKey, Log: logger,
	})
	p.inForce.file.Store(p.teams)
	p.upstreamKey.Store(&p.UpstreamKey)
	p.openConsole(ctx)
	return p, nil
}

// closeDoors closes the listeners of a process that does not start.
func (p *process) closeDoors() {
	for _, door := range []net.Listener{p.doors.public, p.doors.admin, p.doors.console} {
		if door != nil {
			_ = door.Close()
		}
	}
}

func (p *process) gatewayDeps() gateway.Deps {
	return gateway.Deps{
		Now:           time.Now,
		Teams:         p.teams,
		UpstreamKey:   p.UpstreamKey,
		Claims:        p.tasks.claims,
		Queries:       p.tasks.queries,
		Cancels:       p.tasks.cancels,
		Outcomes:      p.tasks.outcomes,
		Identities:    p.identities,
		Accounts:      p.accounts,
		Remote:        remoteOf(p.tasks.claims, p.bounds),
		Metrics:       p.tells.Metrics,
		Traces:        p.tells.Traces,
		Record:        p.record,
		KeyAccepted:   wire.AcceptKey,
		UnheldReached: p.bounds.add(fmt.Sprintf("pictures refused for want of memory that are read at once, to note what they ask for: %d", gateway.MostUnheld)),
		Logger:        p.log.Logger(),
	}
}

// openAccounts opens accounts and tasks: in Redis if its address is set, else in memory.
func (p *process) openAccounts(ctx context.Context) error {
	if p.RedisURL == "" {
		p.accounts, p.alive = limit.NewMemory(p.memoryClock()), func() int64 { return 1 }
		p.tasks = tasks{cache.NewClaims(p.TaskTTL, time.Now), cache.NewQueries(p.TaskQueryRate, time.Now), cache.NewQueries(p.TaskQueryRate, time.Now), cache.NewOutcomes(p.TaskTTL, time.Now)}
		return p.tells.Metrics.Watch(telemetry.Watched{Degraded: func() bool { return false }, Holds: p.openHolds})
	}
	p.redis = openRedis(p.settings, p.log.Logger(), p.tells.Metrics, redisNeed(p.teams))
	p.redis.OnFull(p.bounds.add(fmt.Sprintf("calls of Redis that wait for a connection: %s each", showDuration(redisclient.PlaceWait))))
	if err := p.redis.RequireNoEviction(ctx); err != nil {
		_ = p.redis.Close()
		return faults{{Name: prefix + "REDIS_URL", Text: err.Error()}}
	}
	shared := sharedAccounts(p.redis, p.settings, p.log.Logger(), time.Now)
	p.accounts, p.versions, p.alive = shared, shared.Versions, shared.Alive
	inRedis := cache.NewRedis(cache.RedisConfig{
		Client: p.redis, Timeout: p.RedisTimeout, TTL: p.TaskTTL, Fresh: p.PollInterval, Rate: p.TaskQueryRate, Now: time.Now,
		Memory: shared.Memory,
	})
	p.tasks = tasks{inRedis, inRedis, inRedis.Cancels, inRedis}
	p.checks = append(p.checks, admin.Check{Name: "redis", State: func() error {
		if err := shared.State(); err != nil {
			return err
		}
		return p.redis.EvictionFault()
	}})
	return p.tells.Metrics.Watch(telemetry.Watched{
		Degraded: shared.Degraded, Holds: p.openHolds, Replicas: func() (int64, int64) { return shared.Alive(), int64(p.Replicas) },
	})
}

// closeAccounts posts pending charges and claims, and logs what could not be posted.
func (p *process) closeAccounts() {
	ctx, cancel := context.WithTimeout(context.Background(), settleFor)
	defer cancel()
	if inRedis, ok := p.tasks.claims.(*cache.Redis); ok {
		_ = inRedis.Maintain(ctx) // Unwritten counts the failures
		if n := inRedis.Unwritten(); n > 0 {
			p.log.Logger().Error("tasks", "error", fmt.Sprintf("%d claims, answers or outcomes could not be written to Redis and are lost", n))
		}
	}
	if err := p.accounts.Close(ctx); err != nil {
		p.log.Logger().Error("accounts", "error", err.Error())
	}
	if err := p.recent.Close(ctx); err != nil {
		p.log.Logger().Warn("recent", "error", "the last requests and their counts could not be posted to Redis")
	}
	if p.redis != nil {
		_ = p.redis.Close()
	}
}

// enter sets why the process is not ready; "": it is ready.
func (p *process) enter(phase string) {
	if phase == "" {
		p.phase.Store(nil)
		return
	}
	p.phase.Store(&phase)
}

func (p *process) ready() error {
	if phase := p.phase.Load(); phase != nil {
		return errors.New(*phase)
	}
	return nil
}

// serve runs until ctx ends and then stops as the settings say. It returns nil if no request was cut.
func (p *process) serve(ctx context.Context) error {
	p.admin = wire.NewServer(admin.New(admin.Deps{
		Ready: p.ready, Checks: p.checks, Ledger: p.accounts.Rows, Metrics: p.tells.Metrics.Handler(), Currency: func() string { return p.gateway.Currency() }, Pprof: p.AdminPprof, Hosts: p.adminHosts(),
	}), p.log.Logger())
	p.admin.IdleTimeout = adminIdle
	p.clients.Bound(p.admin, wire.Config{Listener: "admin", Most: adminConnections, Log: p.log.Logger()})
	forPeople(p.admin)
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { failed <- p.servePublic() })
	serving.Go(func() { failed <- p.admin.Serve(p.doors.admin) })
	working, enough := context.WithCancel(context.WithoutCancel(ctx))
	for _, work := range append(p.works, p.gateway.Work) {
		serving.Go(func() { work(working) })
	}
	defer p.closeTelemetry()
	defer p.closeAccounts()
	defer p.identities.Close()
	defer serving.Wait()
	defer enough()
	defer func() { _ = p.admin.Close() }()
	defer func() { _ = p.public.Close() }()

	p.enter("")
	p.log.Logger().Info("serving",
		"listen", p.doors.public.Addr().String(), "tls", p.certificate != nil,
		"admin", p.doors.admin.Addr().String(), "upstream", p.UpstreamURL.String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return p.stop(failed)
	}
}

// adminHosts are the host names under which clients may address the admin listener: those of the setting, and that in its
// address.
func (p *process) adminHosts() []string {
	host, _, _ := net.SplitHostPort(p.AdminListen)
	hosts := []string{strings.ToLower(host)}
	for _, name := range p.AdminHosts {
		hosts = append(hosts, string(name))
	}
	return hosts
}

func (p *process) servePublic() error {
	if p.certificate != nil {
		return p.public.ServeTLS(p.doors.public, "", "")
	}
	return p.public.Serve(p.doors.public)
}

// stop ends the process without losing a request. It fails readiness first, so that balancers send no more; it serves what
// still comes for ShutdownDelay, on connections that close after it; then requests have ShutdownGrace to end.
func (p *process) stop(failed <-chan error) error {
	logger := p.log.Logger()
	p.enter("stopping")
	p.gateway.BeginDrain()
	logger.Info("stopping", "delay", showDuration(p.ShutdownDelay), "grace", showDuration(p.ShutdownGrace))
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(p.ShutdownDelay):
	}
	p.gateway.BeginStop()
	grace, cancel := context.WithTimeout(context.Background(), p.ShutdownGrace)
	defer cancel()
	if err := p.public.Shutdown(grace); err != nil {
		return fmt.Errorf("requests ran longer than %sSHUTDOWN_GRACE and were cut: %w", prefix, err)
	}
	logger.Info("stopped")
	return nil
}
