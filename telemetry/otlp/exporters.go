package otlp

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// MetricReader returns a reader that sends metrics at intervals, nil if they are not to be sent.
func MetricReader(ctx context.Context) (sdkmetric.Reader, error) {
	if wanted, err := wants(Metrics); !wanted {
		return nil, err
	}
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
