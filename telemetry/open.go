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

// Config says what the process tells of itself. What is sent, and where to, is said by the OpenTelemetry SDK's own
// environment variables.
type Config struct {
	Logger    *slog.Logger // for what exporters complain of; required
	Version   string       // of this binary
	Revision  string
	GoVersion string

	Provider string   // gen_ai.provider.name
	Upstream *url.URL // the service's base address; nil: not told

	Join         bool // a client's trace is joined; else it is linked
	SendUpstream bool // the trace context is sent to the service
	Capture      bool // prompts and answers stand in spans

	// Client takes the spans. Nil: what OTEL_* says, and where that says nothing no span is made.
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

// Telemetry is what the process tells of itself beside its log: metrics always, spans and log records where OTEL_* says
// where to. Create it with [Open].
type Telemetry struct {
	Metrics *Metrics
	Traces  *Traces      // nil: no span is made
	Logs    slog.Handler // takes the lines of the log, for a collector; nil: nobody does
	Sent    []string     // signals that are sent, for the log

	closers []func(context.Context) error
}

// Open builds what the environment asks for. It connects to nothing: exporters do, in the background, when there is
// something to send. Its errors are about the environment.
func Open(ctx context.Context, config Config) (*Telemetry, error) {
	t := new(Telemetry)
	gates := make(map[string]*otlp.Gate)
	otlp.LogTo(config.Logger) // before anything of the library can say something
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

// openMetrics sends what the page shows, from time to time. The reader that sends has a provider of its own, without an
// instrument: beside the page's reader in one provider it would have each measurement made twice.
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

// Close sends what waits, all signals at once, for as long as the context lasts.
func (t *Telemetry) Close(ctx context.Context) error {
	errs := make([]error, len(t.closers))
	var closing sync.WaitGroup
	for i, closer := range t.closers {
		closing.Go(func() { errs[i] = closer(ctx) })
	}
	closing.Wait()
	return errors.Join(errs...)
}
