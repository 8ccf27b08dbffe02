package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"sync"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"sluice/telemetry/otlp"
)

// Config tells telemetry about the process. What is sent, and where to, is in the OpenTelemetry SDK's own environment
// variables.
type Config struct {
	Logger    *slog.Logger // for errors of exporters; required
	Version   string       // of this binary
	Revision  string
	GoVersion string

	Provider string   // gen_ai.provider.name
	Upstream *url.URL // the service's base address; nil: not in spans

	Join         bool // join a client's trace; else link to it
	SendUpstream bool // send the trace context to the service
	Capture      bool // put prompts and answers into spans

	// Exporter sends the spans. Nil: as OTEL_* says, and if that says nothing, no span is made.
	Exporter sdktrace.SpanExporter
}

func (c *Config) upstreamHost() string {
	if c.Upstream == nil {
		return ""
	}
	return c.Upstream.Hostname()
}

func (c *Config) upstreamPort() int64 {
	if c.Upstream == nil {
		return 0
	}
	if port, err := strconv.ParseInt(c.Upstream.Port(), 10, 64); err == nil {
		return port
	}
	if c.Upstream.Scheme == "https" {
		return 443
	}
	return 80
}

// Telemetry is the process's metrics, and its spans and log records if OTEL_* asks for them. Create it with [Open].
type Telemetry struct {
	Metrics *Metrics
	Traces  *Traces      // nil: no span is made
	Logs    slog.Handler // sends the lines of the log; nil: they are not sent
	Sent    []string     // the signals that are sent

	closers []func(context.Context) error
}

// Open builds what the environment asks for. It does not connect: exporters do, in the background, when they have something to
// send. Its errors are about the environment.
func Open(ctx context.Context, config Config) (*Telemetry, error) {
	t := new(Telemetry)
	gates := make(map[string]*otlp.Gate)
	otlp.LogTo(config.Logger)
	about := otlp.Resource(ctx, scope, config.Version)
	var err error
	exporter := config.Exporter
	if exporter == nil {
		exporter, err = otlp.SpanExporter(ctx)
	}
	if err != nil {
		return nil, err
	}
	if exporter != nil {
		spans := otlp.NewSpans(exporter)
		t.Traces = newTraces(config, about, spans)
		gates[otlp.Traces] = spans.Gate()
		t.sends(otlp.Traces, t.Traces.provider.Shutdown)
	}
	reader, err := otlp.MetricReader(ctx)
	if err == nil {
		t.Metrics, err = newMetrics(config, about, reader)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	if reader != nil {
		t.Sent = append(t.Sent, otlp.Metrics)
	}
	t.closers = append(t.closers, t.Metrics.close)
	logs, gate, err := otlp.LogProcessor(ctx)
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	if logs != nil {
		gates[otlp.Logs] = gate
		provider := sdklog.NewLoggerProvider(sdklog.WithResource(about), sdklog.WithProcessor(logs))
		t.Logs = otelslog.NewHandler(scope, otelslog.WithLoggerProvider(provider), otelslog.WithVersion(config.Version))
		t.sends(otlp.Logs, provider.Shutdown)
	}
	if len(t.Sent) > 0 {
		otlp.ComplainTo(config.Logger)
	}
	return t, t.Metrics.watchLost(gates)
}

func (t *Telemetry) sends(signal string, closer func(context.Context) error) {
	t.Sent = append(t.Sent, signal)
	t.closers = append(t.closers, closer)
}

// Close sends what waits, all signals at the same time, for as long as the context lasts.
func (t *Telemetry) Close(ctx context.Context) error {
	errs := make([]error, len(t.closers))
	var closing sync.WaitGroup
	for i, closer := range t.closers {
		closing.Go(func() { errs[i] = closer(ctx) })
	}
	closing.Wait()
	return errors.Join(errs...)
}
