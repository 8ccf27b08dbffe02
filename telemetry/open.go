package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Telemetry is the process's metrics, and its spans and log records if OTEL_* asks for them. Create it with [Open].
type Telemetry struct {
	Metrics *Metrics
	Traces  *Traces      // nil: no span is made
	Logs    slog.Handler // sends the lines of the log; nil: log records are not sent
	Sent    []string     // the signals that are sent

	closers []func(context.Context) error
}

// Open builds what the environment asks for. It does not connect: exporters connect in the background, when they first send. Its
// errors are about the environment.
func Open(ctx context.Context, config Config) (*Telemetry, error) {
	otel.SetLogger(logr.New(quiet{config.Logger})) // before any other call of the SDK
	t, exporter := new(Telemetry), config.Exporter
	var logs sdklog.Exporter
	var reader sdkmetric.Reader
	var err error
	if exporter == nil {
		exporter, err = exporterOf(ctx, signalTraces, autoexport.NewSpanExporter)
	}
	if err == nil {
		logs, err = exporterOf(ctx, signalLogs, autoexport.NewLogExporter)
	}
	if err == nil {
		reader, err = exporterOf(ctx, signalMetrics, autoexport.NewMetricReader)
	}
	about := aboutProcess(ctx, config.Version)
	if err == nil {
		t.Metrics, err = newMetrics(config, about, reader)
	}
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, t.Metrics.close)
	gates := make(map[string]*gate)
	if exporter != nil {
		t.Traces = newTraces(config, about, newSpanQueue(exporter))
		gates[signalTraces] = &t.Traces.spans.gate
		t.sends(signalTraces, t.Traces.close)
	}
	if reader != nil {
		t.Sent = append(t.Sent, signalMetrics)
	}
	if logs != nil {
		queue := newLogQueue(logs)
		provider := sdklog.NewLoggerProvider(sdklog.WithResource(about), sdklog.WithProcessor(queue))
		t.Logs = otelslog.NewHandler(scope, otelslog.WithLoggerProvider(provider), otelslog.WithVersion(config.Version))
		gates[signalLogs] = &queue.gate
		t.sends(signalLogs, provider.Shutdown)
	}
	if len(t.Sent) > 0 {
		otel.SetErrorHandler(newExportErrors(config.Logger))
	}
	return t, t.Metrics.watchLost(gates)
}

// aboutProcess describes the process to a collector. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence; their
// invalid values are left out.
func aboutProcess(ctx context.Context, version string) *resource.Resource {
	about, _ := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", scope), attribute.String("service.version", version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv())
	return about
}

func (t *Telemetry) sends(signal string, closer func(context.Context) error) {
	t.Sent = append(t.Sent, signal)
	t.closers = append(t.closers, closer)
}

// Close sends what waits, all signals concurrently, for as long as the context lasts.
func (t *Telemetry) Close(ctx context.Context) error {
	errs := make([]error, len(t.closers))
	var closing sync.WaitGroup
	for i, closer := range t.closers {
		closing.Go(func() { errs[i] = closer(ctx) })
	}
	closing.Wait()
	return errors.Join(errs...)
}
