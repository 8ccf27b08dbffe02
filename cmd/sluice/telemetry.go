package main

import (
	"context"
	"strings"
	"time"

	"sluice/telemetry"
)

// sendFor bounds the sending of pending telemetry when the process ends: the collector may be away.
const sendFor = 5 * time.Second

// openTelemetry makes the metrics, and the exporters of spans, metrics and log records that OTEL_* asks for.
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

// closeTelemetry sends pending telemetry, for a bounded time.
func (p *process) closeTelemetry() {
	if p.tells == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendFor)
	defer cancel()
	if err := p.tells.Close(ctx); err != nil {
		p.log.Logger().Warn("telemetry", "error", "some telemetry was not sent before the process ended: the collector is away or too slow")
	}
}

// openHolds is how many holds are open and how old the oldest is, as last counted.
func (p *process) openHolds() (open int, age time.Duration, known bool) {
	open, oldest, err := p.accounts.Holds(context.Background())
	if err != nil || oldest.IsZero() {
		return open, 0, err == nil
	}
	return open, max(time.Since(oldest), 0), true
}
