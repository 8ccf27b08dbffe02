package main

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/policy"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// serveCommand is sluice serve.
type serveCommand struct{}

// Run serves until ctx ends, with settings from the environment.
func (serveCommand) Run(ctx context.Context, p program) error {
	hangups := make(chan os.Signal, 1) // one is enough: the file is read after the last signal
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	c, err := loadConfiguration(p.environ)
	if err != nil {
		return err
	}
	defer paceFor(p.environ, containerLimit("")).set()()
	log := openLog(c.settings, p.stdout)
	defer closeLog(log)
	slog.SetDefault(log.Logger()) // libraries log here too, not to standard error
	announce(log.Logger(), c)
	process, err := open(ctx, c, log)
	if err != nil {
		return err
	}
	w := newWatch(c, log.Logger(), process.openDirectory(ctx).setFile)
	w.count = process.tells.Metrics.Reload
	if err := process.tells.Metrics.Watch(telemetry.Watched{TeamsFaulty: func() bool { return w.state() != nil }}); err != nil {
		return err
	}
	process.checks = append(process.checks, admin.Check{Name: "teams", State: w.state})
	// Changes of the teams file still apply while the process stops, because requests are still taken.
	watching, enough := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { w.run(watching, hangups) })
	defer running.Wait()
	defer enough()
	if err := process.console.writeLink(p.stderr); err != nil {
		return err
	}
	return process.serve(ctx)
}

// reload puts new teams and a new key in force together with the next request.
func (p *process) reload(file *teams.File, key gateway.Secret) {
	p.gateway.SetTeams(file)
	p.inForce.file.Store(file)
	p.gateway.SetUpstreamKey(key)
	p.upstreamKey.Store(&key)
}

// gatewayConfig is the gateway's part of the settings.
func (c configuration) gatewayConfig() gateway.Config {
	paths := make([]string, len(c.ForwardPaths))
	for i, path := range c.ForwardPaths {
		paths[i] = string(path)
	}
	origins := make([]string, len(c.CORSOrigins))
	for i, origin := range c.CORSOrigins {
		origins[i] = string(origin)
	}
	return gateway.Config{
		UpstreamURL:    c.UpstreamURL,
		HeaderPrefix:   c.HeaderPrefix,
		Workspace:      c.Workspace,
		DataInspection: c.DataInspection,
		ForwardPaths:   paths,
		TrustedProxies: prefixes(c.TrustedProxies),
		CORSOrigins:    origins,
		ResultHosts:    c.ResultHosts,
		ResultNetworks: prefixes(c.ResultNetworks),
		MaxBody:        int64(c.MaxBody),
		BodyBudget:     int64(c.BodyBudget),
		ConnectTimeout: c.ConnectTimeout,
		HeaderTimeout:  c.HeaderTimeout,
		IdleTimeout:    c.IdleTimeout,
		WriteTimeout:   c.WriteTimeout,
		Replicas:       c.Replicas,
		PollInterval:   c.PollInterval,
		TaskTTL:        c.TaskTTL,
		TaskZone:       c.TaskTimezone,
		Families: policy.Families{
			SyncImage: c.SyncImageModels, EditImage: c.EditImageModels,
			Thinking: c.ThinkingModels, Vision: c.VisionModels, Reasoning: c.ReasoningModels,
		},
		Rules:     c.Rules,
		OpenAI:    c.OpenAI,
		Provider:  c.ProviderName,
		ImageWait: c.ImageWait,
	}
}

func prefixes(networks []network) []netip.Prefix {
	all := make([]netip.Prefix, len(networks))
	for i, network := range networks {
		all[i] = netip.Prefix(network)
	}
	return all
}
