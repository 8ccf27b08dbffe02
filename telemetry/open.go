package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"sluice/telemetry/otlp"
)

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
