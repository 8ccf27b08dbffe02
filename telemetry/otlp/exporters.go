package otlp

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// SpanClient returns the client that sends spans, nil if they are not to be sent. It chooses the protocol; the library's
// clients read all other variables.
func SpanClient(ctx context.Context) (otlptrace.Client, error) {
	if wanted, err := wants(Traces); !wanted {
		return nil, err
	}
	if os.Getenv("OTEL_TRACES_EXPORTER") == "console" {
		return console{os.Stdout}, nil
	}
	var client otlptrace.Client
	switch name := cmp.Or(os.Getenv(envSpanProtocol), os.Getenv(envProtocol)); name {
	case "", protocolHTTP:
		client = otlptracehttp.NewClient()
	case protocolGRPC:
		client = otlptracegrpc.NewClient()
	default:
		return nil, Fault{envSpanProtocol + " or " + envProtocol, "allowed: " + protocols}
	}
	return client, client.Start(ctx)
}

// MetricReader returns a reader that sends a producer's metrics at intervals, nil if they are not to be sent.
func MetricReader(ctx context.Context, producer sdkmetric.Producer) (sdkmetric.Reader, error) {
	if wanted, err := wants(Metrics); !wanted {
		return nil, err
	}
	autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) { return producer, nil })
	return autoexport.NewMetricReader(ctx)
}

// LogProcessor returns a processor that sends log records, and the count of those that were lost; nil if they are not to be
// sent.
func LogProcessor(ctx context.Context) (sdklog.Processor, *Gate, error) {
	if wanted, err := wants(Logs); !wanted {
		return nil, nil, err
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return nil, nil, err
	}
	gate := newGate(variable(envLogQueue, defaultQueue))
	return newLogGate(gate, exporter), gate, nil
}

// Resource describes the process to a collector. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence; what is
// invalid in them is left out.
func Resource(ctx context.Context, service, version string) *resource.Resource {
	about, _ := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", service), attribute.String("service.version", version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv())
	return about
}
