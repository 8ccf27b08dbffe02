package main

import (
	"context"
	"strings"
	"time"

	"sluice/telemetry"
)

// sendFor bounds the sending of what waits when the process ends: a collector that is away must not keep it.
const sendFor = 5 * time.Second

// openTelemetry makes the instruments, and what sends spans, metrics and log records where OTEL_* says so.
func (p *process) openTelemetry(ctx context.Context) error {
	b := readBuild()
	tells, err := telemetry.Open(ctx, telemetry.Config{
		Logger: p.log.Logger(), Version: b.version, Revision: b.revision, GoVersion: b.goVersion,
		Provider: p.ProviderName, Upstream: p.UpstreamURL,
		Join: p.TraceContext == contextJoin, SendUpstream: p.TraceUpstream, Capture: p.CaptureContent,
	})
	if err != nil {
		return err
	}
	p.tells = tells
	p.log.Tee(tells.Logs)
	if len(tells.Sent) > 0 {
		p.log.Logger().Info("telemetry", "sent", strings.Join(tells.Sent, ","))
	}
	return tells.Metrics.Watch(telemetry.Watched{LogDropped: p.log.Dropped})
}

// closeTelemetry sends what waits, for a bounded time.
func (p *process) closeTelemetry() {
	if p.tells == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendFor)
	defer cancel()
	if err := p.tells.Close(ctx); err != nil {
		p.log.Logger().Warn("telemetry", "error", "what waited to be sent when the process ended was not sent in time")
	}
}

// openHolds is how many holds are open and how old the oldest is, as they were last looked at.
func (p *process) openHolds() (open int, age time.Duration, known bool) {
	open, oldest, err := p.accounts.Holds(context.Background())
	if err != nil || oldest.IsZero() {
		return open, 0, err == nil
	}
	return open, max(time.Since(oldest), 0), true
}
