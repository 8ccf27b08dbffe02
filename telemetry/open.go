package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"sync"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

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

	// Client sends the spans. Nil: as OTEL_* says, and if that says nothing, no span is made.
	Client otlptrace.Client
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
	client := config.Client
	if client == nil {
		client, err = otlp.SpanClient(ctx)
	}
	if err != nil {
		return nil, err
	}
	if client != nil {
		t.Traces = newTraces(config, otlp.NewQueue(client, about, instrumentation.Scope{Name: scope, Version: config.Version}))
		gates[otlp.Traces] = t.Traces.queue.Gate()
		t.sends(otlp.Traces, t.Traces.queue.Close)
	}
	if t.Metrics, err = newMetrics(config); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	if err := t.openMetrics(ctx, about); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
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

// openMetrics sends what the page shows, at intervals. The reader that sends has its own provider, without instruments: in the
// provider of the page's reader it would double the cost of each measurement.
func (t *Telemetry) openMetrics(ctx context.Context, about *resource.Resource) error {
	reader, err := otlp.MetricReader(ctx, t.Metrics)
	if reader == nil {
		t.closers = append(t.closers, t.Metrics.close)
		return err
	}
	sender := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(reader))
	t.sends(otlp.Metrics, func(ctx context.Context) error { return errors.Join(sender.Shutdown(ctx), t.Metrics.close(ctx)) })
	return nil
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
