package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	"sluice/policy/limit"
	"sluice/telemetry"
)

// logFlush bounds the wait for an output that nobody reads when the process ends.
const logFlush = 2 * time.Second

// tasks are where claims and answers, the account's queries and cancels, and what ran once are kept.
type tasks struct {
	claims   gateway.Claims
	queries  gateway.Queries
	cancels  gateway.Queries
	outcomes gateway.Outcomes
}

// settleFor bounds the posting of what waits when the process ends.
const settleFor = 5 * time.Second

// accounts are what the process keeps of its teams, until it ends.
type accounts interface {
	gateway.Accounts
	// Ledger is what one team, or each where team is empty, used on each of the days, in the order of reports.
	Ledger(ctx context.Context, team string, days []int) ([]limit.Row, error)
	// Holds tells how many holds are open, and when the oldest was made.
	Holds(ctx context.Context) (open int, oldest time.Time, err error)
	// Close posts what waits, and tells what could not be.
	Close(ctx context.Context) error
}

// process is a gateway that runs: its handler, its two listeners, its log. Make it with [open] and run it with serve.
type process struct {
	configuration
	log     *telemetry.Log
	gateway *gateway.Gateway
	public  *http.Server
	admin   *http.Server
	doors   struct {
		public *acceptor
		admin  net.Listener
	}
	bounds   *connections // of the public listener
	tells    *telemetry.Telemetry
	accounts accounts
	tasks    tasks
	redis    *redisclient.Client // nil: the accounts are in memory
	checks   []admin.Check
	phase    atomic.Pointer[string] // why requests should not be sent here; nil while they should
}

// open takes the listeners and builds everything, without serving yet. The log stays the caller's to close.
func open(ctx context.Context, c configuration, log *telemetry.Log) (*process, error) {
	logger := log.Logger()
	public, err := listen(ctx, prefix+"LISTEN", c.Listen)
	if err != nil {
		return nil, err
	}
	p := &process{configuration: c, log: log, bounds: newConnections(c.MaxConnections, c.TrustedProxies, logger)}
	p.doors.public = &acceptor{Listener: public, log: logger}
	p.doors.admin, err = listen(ctx, prefix+"ADMIN_LISTEN", c.AdminListen)
	if err != nil {
		_ = public.Close()
		return nil, err
	}
	p.enter("starting")
	p.checks = []admin.Check{{Name: "accept", State: p.doors.public.state}, {Name: "connections", State: p.bounds.state}, {Name: "log", State: p.logState}}
	if err = p.openTelemetry(ctx); err == nil {
		err = p.openAccounts(ctx)
	}
	if err != nil {
		p.closeTelemetry()
		_ = p.doors.public.Close()
		_ = p.doors.admin.Close()
		return nil, err
	}
	p.gateway = gateway.New(c.gatewayConfig(), gateway.Deps{
		Now:         time.Now,
		Teams:       c.teams,
		UpstreamKey: c.UpstreamKey,
		Claims:      p.tasks.claims,
		Queries:     p.tasks.queries,
		Cancels:     p.tasks.cancels,
		Outcomes:    p.tasks.outcomes,
		Accounts:    p.accounts,
		Metrics:     p.tells.Metrics,
		Traces:      p.tells.Traces,
		Record:      log.Write,
		Logger:      logger,
	})
	p.public = gateway.NewServer(p.gateway, logger)
	p.public.TLSConfig = c.tlsConfig()
	p.bounds.watch(p.public)
	return p, nil
}

// openAccounts keeps the accounts, and what is known of tasks, in Redis where one is set, else in memory.
func (p *process) openAccounts(ctx context.Context) error {
	if p.RedisURL == "" {
		p.accounts = limit.NewMemory(time.Now)
		p.tasks = tasks{cache.NewClaims(p.TaskTTL, time.Now), cache.NewQueries(p.TaskQueryRate, time.Now), cache.NewQueries(p.TaskQueryRate, time.Now), cache.NewOutcomes(p.TaskTTL, time.Now)}
		return p.tells.Metrics.Watch(telemetry.Watched{Degraded: func() bool { return false }, Holds: p.openHolds})
	}
	p.redis = openRedis(p.settings, p.log.Logger(), p.tells.Metrics, redisNeed(p.teams))
	if err := p.redis.RequireNoEviction(ctx); err != nil {
		_ = p.redis.Close()
		return faults{{Name: prefix + "REDIS_URL", Text: err.Error()}}
	}
	shared := sharedAccounts(p.redis, p.settings, p.log.Logger(), time.Now)
	p.accounts = shared
	inRedis := cache.NewRedis(cache.RedisConfig{
		Client: p.redis, Timeout: p.RedisTimeout, TTL: p.TaskTTL, Fresh: p.PollInterval, Rate: p.TaskQueryRate, Now: time.Now,
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

// closeAccounts posts what waits and tells of what could not be.
func (p *process) closeAccounts() {
	ctx, cancel := context.WithTimeout(context.Background(), settleFor)
	defer cancel()
	if inRedis, ok := p.tasks.claims.(*cache.Redis); ok {
		_ = inRedis.Tend(ctx) // what is left is counted
		if n := inRedis.Unwritten(); n > 0 {
			p.log.Logger().Error("tasks", "error", fmt.Sprintf("%d claims, answers or outcomes were not written to Redis and are gone", n))
		}
	}
	if err := p.accounts.Close(ctx); err != nil {
		p.log.Logger().Error("accounts", "error", err.Error())
	}
	if p.redis != nil {
		_ = p.redis.Close()
	}
}

// enter says why requests should not be sent here; "" says that they should.
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

func (p *process) logState() error {
	if n := p.log.Dropped(); n > 0 {
		return fmt.Errorf("%d lines lost since the start, because the output does not keep up", n)
	}
	return nil
}

// serve runs until ctx ends and then stops as the settings say. It returns nil after a stop that cut nobody.
func (p *process) serve(ctx context.Context) error {
	p.admin = gateway.NewServer(admin.New(admin.Deps{
		Ready: p.ready, Checks: p.checks, Ledger: p.accounts.Ledger, Metrics: p.tells.Metrics.Handler(), Currency: func() string { return p.gateway.Currency() }, Pprof: p.AdminPprof, Hosts: p.adminHosts(),
	}), p.log.Logger())
	newConnections(adminConnections, nil, p.log.Logger()).watch(p.admin)
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { failed <- p.servePublic() })
	serving.Go(func() { failed <- p.admin.Serve(p.doors.admin) })
	working, enough := context.WithCancel(context.WithoutCancel(ctx))
	serving.Go(func() { p.gateway.Work(working) })
	defer p.closeTelemetry()
	defer p.closeAccounts()
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

// adminHosts are the names that the admin listener answers to: those that are set, and what it listens at.
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

// stop ends the process in the order that loses no request: first nobody is sent here any more, then whoever comes all
// the same is served for a while, on connections that end; then what runs may end.
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
		return fmt.Errorf("requests still ran after %sSHUTDOWN_GRACE and were cut: %w", prefix, err)
	}
	logger.Info("stopped")
	return nil
}

// tlsConfig is nil where no certificate is set. ServeTLS adds HTTP/2.
func (c configuration) tlsConfig() *tls.Config {
	if c.certificate == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*c.certificate}}
}

// closeLog writes what waits, for a bounded time.
func closeLog(log *telemetry.Log) {
	ctx, cancel := context.WithTimeout(context.Background(), logFlush)
	defer cancel()
	_ = log.Close(ctx) // what cannot be written cannot be told of either
}

// openLog starts the one stream of the process: a line for each request, and lines about the process between them, so
// that an operator reads one thing. Nothing waits for it, and it may be anywhere.
func openLog(s settings, w io.Writer) *telemetry.Log {
	return telemetry.NewLog(telemetry.LogConfig{Writer: w, Level: s.LogLevel, Text: s.LogFormat == "text", Now: time.Now})
}

// announce tells what runs, and every warning.
func announce(log *slog.Logger, c configuration) {
	b := readBuild()
	log.Info("starting", "version", b.version, "go", b.goVersion, "revision", b.revision, "teams", len(c.teams.List))
	for _, warning := range c.warnings {
		log.Warn("configuration", "warning", warning)
	}
}
