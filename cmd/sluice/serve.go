package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/cmd/sluice/pace"
	"sluice/cmd/sluice/settings"
	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/gateway/feed"
	"sluice/gateway/hooks"
	"sluice/gateway/mirror"
	"sluice/gateway/notices"
	"sluice/gateway/oidc"
	"sluice/gateway/quotas"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/forms"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
	"sluice/telemetry/pulse"
)

// serviceCheck names readiness's line about the service. It never makes the process unready.
const serviceCheck = "service"

// serveCommand is sluice serve.
type serveCommand struct{}

// Run serves until ctx ends, with settings from the environment.
func (serveCommand) Run(ctx context.Context, p program) error {
	outliveReaders()
	hangups := make(chan os.Signal, 1) // a buffer of one suffices: the file is read after the last signal
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	c, err := loadConfiguration(p.environ)
	if err != nil {
		return err
	}
	defer pace.For(p.environ, pace.ContainerLimit("")).Set()()
	log := openLog(c.Settings, p.stdout)
	defer closeLog(log)
	slog.SetDefault(log.Logger()) // libraries log here too, not to standard error
	b := readBuild()
	log.Logger().Info("starting", "version", b.version, "go", b.goVersion, "revision", b.revision, "teams", len(c.teams.List))
	for _, warning := range c.warnings {
		log.Logger().Warn("configuration", "warning", warning)
	}
	process, err := open(ctx, c, log, start{hangups: hangups})
	if err != nil {
		return err
	}
	if err := process.console.writeLink(p.stderr); err != nil { // the gateway works without the console's link
		log.Logger().Warn("console", "warning", "the link to log in could not be written to standard error: "+err.Error())
	}
	return process.serve(ctx)
}

// process is a running gateway. Make it with [open] and run it with serve.
type process struct {
	configuration
	log        *telemetry.Log
	telemetry  *telemetry.Telemetry
	listeners  listeners
	kept       *kept
	identities *oidc.Verifier // verifies tokens that replace keys
	gateway    *gateway.Gateway
	console    *consoleServer // nil: no console
	public     *http.Server
	admin      *http.Server
	phase      *phase
	background []func(context.Context) // each runs until its context ends
}

// start holds what differs between sluice serve and the demonstration.
type start struct {
	hangups <-chan os.Signal                   // each reloads the teams file; nil: no teams file
	fill    func(context.Context, *kept) error // fills kept at the start; nil: nothing
}

// open opens the listeners and builds every part from the previous ones, without serving yet. The caller closes the log.
func open(ctx context.Context, c configuration, log *telemetry.Log, s start) (_ *process, err error) {
	logger, used, force, beats := log.Logger(), &teams.LastUse{}, &inForce{}, new(pulse.Ring)
	bounds := &bounds{now: time.Now, log: logger}
	p := &process{configuration: c, log: log, phase: newPhase("starting")}
	p.identities = oidc.NewVerifier(oidc.VerifierConfig{
		Now: time.Now, Trip: p.tunnel().Transport(),
		Hangs: bounds.add("the wait of a token for its issuer's keys: 2 s"),
	})
	if p.listeners, err = openListeners(ctx, c, logger); err == nil {
		p.telemetry, err = openTelemetry(ctx, c.Settings, log)
	}
	if err == nil {
		p.kept, err = openKept(ctx, c, keptParts{
			logger, bounds, p.telemetry.Metrics,
			quotas.AlertsOf(force.file.Load, force.routes, force.known),
		})
	}
	if err == nil && s.fill != nil {
		err = s.fill(ctx, p.kept)
	}
	if err != nil {
		closeTelemetry(p.telemetry, logger)
		p.listeners.close()
		return nil, err
	}
	streams := feed.New(p.kept.outbox, time.Now)
	force.feed.Store(streams)
	p.gateway = gateway.New(c.gatewayConfig(p.kept.fleet), gateway.Deps{
		Now: time.Now, Teams: c.teams, Upstream: c.Upstream.Set, Cooling: p.kept.cooling, Identities: p.identities, Logger: logger,
		Balances: p.kept.balances, Claims: p.kept.claims, Queries: p.kept.queries, Cancels: p.kept.cancels, Outcomes: p.kept.outcomes,
		Remote: p.kept.remote, Outbox: p.kept.outbox, Feed: streams, To: force.routes, Result: resultOf(p.kept.pictures, c.MirrorProxy),
		Metrics: p.telemetry.Metrics, Traces: p.telemetry.Traces, Record: recorder(used, beats, p.kept.collector, log),
		TaskEnded:   p.kept.collector.NoteTask,
		KeyAccepted: wire.AcceptKey,
		UnheldReached: bounds.add(fmt.Sprintf("pictures refused for want of memory that are read at once, to note what they ask for: %d",
			gateway.MostUnheld)),
	})
	directory := openDirectory(ctx, c, directoryParts{p.kept, p.gateway, force, used, p.telemetry.Metrics, logger})
	watched := telemetry.Watched{
		LogDropped: log.Dropped, Degraded: p.kept.degraded, Holds: p.kept.openHolds, Replicas: p.kept.replicas,
		Reconciled: p.kept.reconciled.Last, Accounts: p.accountMetrics,
		Queue: p.gateway.Queue, EventsDropped: p.kept.outbox.Dropped, Streams: streams.Streams,
	}
	p.background = append(directory.background, p.kept.collector.Run, p.kept.reconciled.Run, streams.Run, p.gateway.Work)
	d := p.hooks(force)
	watched.Hooks, watched.HooksEnded, watched.Mirror = d.Oldest, d.Ended, p.mirror(force)
	faults := func() []notices.Fault { return []notices.Fault{directory.watch.fault()} }
	connections := new(wire.Listeners)
	checks := append([]admin.Check{
		{Name: "accept", State: p.listeners.public.state},
		{Name: "connections", State: func() error { return connections.State() }},
		{Name: serviceCheck, State: func() error { return beats.State(time.Now()) }},
		{Name: "bounds", State: bounds.state},
		{Name: "log", State: func() error { return logState(log) }},
		{Name: "console", State: func() error { return p.listeners.consoleState(c.ConsoleListen) }},
	}, p.kept.checks...)
	checks = append(checks, admin.Check{Name: "directory", State: directory.watch.state},
		admin.Check{Name: "house", State: func() error { return nil }, Detail: p.gateway.House})
	if c.certificate != nil {
		checks = append(checks, admin.Check{Name: "certificate", State: c.certificate.State})
		p.background = append(p.background, func(ctx context.Context) { c.certificate.Watch(ctx, c.TeamsPoll, reread("certificate", logger)) })
	}
	if c.authorities != nil {
		checks = append(checks, admin.Check{Name: "authorities", State: c.authorities.State})
		p.background = append(p.background, func(ctx context.Context) {
			c.authorities.Watch(ctx, authoritiesPolls*c.TeamsPoll, reread("authorities", logger))
		})
	}
	if s.hangups != nil {
		files := newWatch(c, logger, directory.setFile, p.telemetry.Metrics.Reload)
		watched.TeamsFaulty = func() bool { return files.state() != nil }
		checks = append(checks, admin.Check{Name: "teams", State: files.state})
		faults = func() []notices.Fault { return []notices.Fault{files.notice(), directory.watch.fault()} }
		p.background = append(p.background, func(ctx context.Context) { files.run(ctx, s.hangups) })
	}
	p.background = append(p.background, notices.New(notices.Config{
		Outbox: p.kept.outbox, To: force.routes, Known: force.known, Teams: force.file.Load, Standings: p.gateway.Standings, Faults: faults,
		Minutes: p.kept.recent.Minutes, Now: time.Now,
	}).Run)
	if p.listeners.console != nil {
		p.console = newConsole(ctx, consoleParts{
			c, p.listeners.console, p.kept, p.gateway, force, directory, checks, bounds, beats, d.Oldest, logger,
		})
		connections.Bound(p.console.server, wire.Config{
			Listener: "console", Most: settings.ConsoleConnections,
			Proxies: settings.Prefixes(c.TrustedProxies), Log: logger,
		})
		p.background = append(p.background, p.console.background...)
	}
	p.public, p.admin = wire.NewServer(p.gateway, logger), p.newAdmin(checks, force)
	p.public.TLSConfig = c.tlsConfig()
	connections.Bound(p.public, wire.Config{
		Listener: "public", Setting: settings.Prefix + "MAX_CONNECTIONS", Most: c.MaxConnections, Proxies: settings.Prefixes(c.TrustedProxies),
		Begun: wire.AfterKey, Log: logger,
	})
	connections.Bound(p.admin, wire.Config{Listener: "admin", Most: settings.AdminConnections, Log: logger})
	return p, p.telemetry.Metrics.Watch(watched)
}

// hooks adds the deliveries to hooks to the background functions, and returns what makes them.
func (p *process) hooks(force *inForce) *hooks.Deliverer {
	d := hooks.New(hooks.Config{
		Outbox: p.kept.outbox, Teams: force.file.Load, Poster: p.poster(), Now: time.Now, Log: p.log.Logger(),
		Count: func(hook string, outcome hooks.Outcome) { p.telemetry.Metrics.Hook(hook, string(outcome)) },
	})
	p.background = append(p.background, d.Run)
	return d
}

// mirror adds the storing of pictures to the background functions, and returns a function for how many wait. Without a store it announces
// the successes that wait for one.
func (p *process) mirror(force *inForce) func() int {
	fetcher := upstream.NewFetcher(upstream.FetchConfig{
		Hosts: p.ResultHosts, Networks: settings.Prefixes(p.ResultNetworks),
		Tunnel: p.tunnel(),
	})
	m := mirror.New(mirror.Config{
		Store: p.kept.pictures, Works: p.kept.works, Fetch: fetcher.Copy, To: force.routes, Measures: &p.telemetry.Metrics.Mirror, Now: time.Now,
		Log:   p.log.Logger(),
		Keep:  func() map[string]time.Duration { return keptFor(force.file.Load()) },
		First: func(ctx context.Context, n event.Name) (bool, error) { return p.kept.outbox.Once(ctx, n, nil) },
	})
	p.background = append(p.background, m.Run)
	return m.Waiting
}

// newAdmin returns the admin listener's server.
func (p *process) newAdmin(checks []admin.Check, force *inForce) *http.Server {
	host, _, _ := net.SplitHostPort(p.AdminListen)
	hosts := append(wordsOf(p.AdminHosts), strings.ToLower(host)) // allow the names of the setting, and that in the address
	server := wire.NewServer(admin.New(admin.Deps{
		Ready: p.phase.state, Checks: checks, Ledger: p.kept.balances.Rows, Metrics: p.telemetry.Metrics.Handler(), Currency: p.gateway.Currency,
		Teams: force.file.Load, Standings: p.gateway.Standings, Inside: p.kept.balances.LookInside, Outbox: p.kept.outbox, Pprof: p.AdminPprof,
		Hosts: hosts,
	}), p.log.Logger())
	server.IdleTimeout = settings.AdminIdle
	forPeople(server)
	return server
}

// serve runs until ctx ends, and then stops within the settings' times. It returns nil if no request was cut.
func (p *process) serve(ctx context.Context) error {
	logger, failed := p.log.Logger(), make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { failed <- serveOn(p.admin, p.listeners.admin) })
	working, enough := context.WithCancel(context.WithoutCancel(ctx)) // requests still arrive while the process stops
	for _, work := range p.background {
		serving.Go(func() { telemetry.Keep(working, logger, "background", work) })
	}
	defer closeTelemetry(p.telemetry, logger)
	defer p.kept.close(logger)
	defer p.identities.Close()
	defer serving.Wait()
	defer enough()
	defer func() { _ = p.admin.Close() }()
	defer func() { _ = p.public.Close() }()

	p.kept.join(ctx)
	serving.Go(func() { failed <- serveOn(p.public, p.listeners.public) })
	p.phase.enter("")
	p.console.logAddress()
	logger.Info("serving",
		"listen", p.listeners.public.Addr().String(), "tls", p.certificate != nil,
		"admin", p.listeners.admin.Addr().String(), "upstream", p.UpstreamURL.String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// Readiness fails first, so that balancers send no more. Requests that still arrive within ShutdownDelay are served, on
	// connections that close after them. Then requests have ShutdownGrace to end.
	p.phase.enter("stopping")
	p.gateway.BeginDrain()
	logger.Info("stopping", "delay", settings.ShowDuration(p.ShutdownDelay), "grace", settings.ShowDuration(p.ShutdownGrace))
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(p.ShutdownDelay):
	}
	p.gateway.BeginStop()
	defer time.AfterFunc(time.Second, p.kept.fleet.End).Stop() // no new requests arrive by then: the other replicas may have its share
	grace, cancel := context.WithTimeout(context.Background(), p.ShutdownGrace)
	defer cancel()
	if err := p.public.Shutdown(grace); err != nil {
		return fmt.Errorf("requests ran longer than %sSHUTDOWN_GRACE and were cut: %w", settings.Prefix, err)
	}
	logger.Info("stopped")
	return nil
}

// serveOn serves a listener, with TLS if the server has a certificate.
func serveOn(server *http.Server, listener net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// phase is why the process is not ready; "": it is ready.
type phase struct{ why atomic.Pointer[string] }

func newPhase(why string) *phase {
	p := new(phase)
	p.enter(why)
	return p
}

func (p *phase) enter(why string) { p.why.Store(&why) }

func (p *phase) state() error {
	if why := *p.why.Load(); why != "" {
		return errors.New(why)
	}
	return nil
}

// gatewayConfig returns the gateway's part of the settings.
func (c configuration) gatewayConfig(fleet *limit.Fleet) gateway.Config {
	return gateway.Config{
		UpstreamURL:    c.UpstreamURL,
		HeaderPrefix:   c.HeaderPrefix,
		Workspace:      c.Workspace,
		DataInspection: c.DataInspection,
		ForwardPaths:   c.ForwardPaths,
		TrustedProxies: settings.Prefixes(c.TrustedProxies),
		CORSOrigins:    wordsOf(c.CORSOrigins),
		ResultHosts:    c.ResultHosts,
		ResultNetworks: settings.Prefixes(c.ResultNetworks),
		MaxBody:        int64(c.MaxBody),
		BodyBudget:     int64(c.BodyBudget),
		Tunnel:         c.tunnel(),
		ConnectTimeout: c.ConnectTimeout,
		HeaderTimeout:  c.HeaderTimeout,
		IdleTimeout:    c.IdleTimeout,
		WriteTimeout:   c.WriteTimeout,
		Fleet:          fleet,
		PollInterval:   c.PollInterval,
		TaskTTL:        c.TaskTTL,
		TaskZone:       c.TaskTimezone,
		Families: policy.Families{
			SyncImage: c.SyncImageModels, EditImage: c.EditImageModels,
			Thinking: c.ThinkingModels, Vision: c.VisionModels, Reasoning: c.ReasoningModels,
		},
		Rules:  c.Rules,
		OpenAI: c.OpenAI, KnownModels: c.KnownModelsOnly,
		Provider:  c.ProviderName,
		ImageWait: c.ImageWait,

		EmbeddingsPath: c.EmbeddingsPath, Embeddings: forms.Bounds{Texts: c.EmbeddingsTexts, Tokens: c.EmbeddingsLength},
	}
}
