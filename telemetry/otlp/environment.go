package otlp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// The signals, as the environment and the label of lost items have them.
const (
	Traces  = "traces"
	Metrics = "metrics"
	Logs    = "logs"
)

// The SDK's own variables that are looked at here: the SDK and its exporters read all others.
const (
	envDisabled     = "OTEL_SDK_DISABLED"
	envEndpoint     = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envProtocol     = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envSpanProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envSpanQueue    = "OTEL_BSP_MAX_QUEUE_SIZE"
	envSpanBatch    = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
	envSpanDelay    = "OTEL_BSP_SCHEDULE_DELAY" // ms
	envSpanTimeout  = "OTEL_BSP_EXPORT_TIMEOUT" // ms
	envLogQueue     = "OTEL_BLRP_MAX_QUEUE_SIZE"
)

// The protocols that spans, metrics and log records are sent by.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
	protocols    = protocolHTTP + " or " + protocolGRPC
)

// Fault is a variable whose value means nothing here.
type Fault struct{ Name, Text string }

// Error says both.
func (f Fault) Error() string { return f.Name + ": " + f.Text }

// Faults lists the variables that [Open] would refuse, or that the SDK would pass over in silence and then send
// to another place or without a credential. Values are not shown: they may be secrets.
func Faults() []Fault {
	var faults []Fault
	for _, signal := range []string{Traces, Metrics, Logs} {
		var fault Fault
		if _, err := wants(signal); errors.As(err, &fault) {
			faults = append(faults, fault)
		}
	}
	for _, part := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		for _, check := range []struct {
			name, allowed string
			ok            func(string) bool
		}{
			{"ENDPOINT", "a URL, such as http://127.0.0.1:4318", isEndpoint},
			{"PROTOCOL", protocols, func(v string) bool { return v == protocolHTTP || v == protocolGRPC }},
			{"HEADERS", "name=value, several with commas between them, values escaped as in URLs", isList},
		} {
			name := "OTEL_EXPORTER_OTLP_" + part + check.name
			if value := os.Getenv(name); value != "" && !check.ok(value) {
				faults = append(faults, Fault{name, "allowed: " + check.allowed})
			}
		}
	}
	if value := os.Getenv("OTEL_RESOURCE_ATTRIBUTES"); value != "" && !isList(value) {
		faults = append(faults, Fault{"OTEL_RESOURCE_ATTRIBUTES", "allowed: name=value, several with commas between them"})
	}
	if os.Getenv("OTEL_METRICS_PRODUCERS") != "" {
		faults = append(faults, Fault{"OTEL_METRICS_PRODUCERS", "is not supported: what is sent is what /metrics shows"})
	}
	return faults
}

func isEndpoint(value string) bool {
	u, err := url.Parse(value)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isList reports whether a text is name=value pairs, as headers and resource attributes are written.
func isList(value string) bool {
	for pair := range strings.SplitSeq(value, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !ok || err != nil || strings.TrimSpace(name) == "" {
			return false
		}
	}
	return true
}

// wants reports whether a signal is to be sent: its exporter is named, or an endpoint is. Nothing set is nothing sent, and
// not, as the SDK has it, an exporter that tries localhost. Log records are sent only where their own variables say so:
// the log is on standard output already, and many collect it there.
func wants(signal string) (bool, error) {
	if strings.EqualFold(os.Getenv(envDisabled), "true") {
		return false, nil
	}
	upper := strings.ToUpper(signal)
	name := "OTEL_" + upper + "_EXPORTER"
	switch os.Getenv(name) {
	case "none":
		return false, nil
	case "otlp", "console":
		return true, nil
	case "prometheus":
		if signal == Metrics {
			return false, nil // the page of the admin listener is always there
		}
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_"+upper+"_ENDPOINT") != "" || signal != Logs && os.Getenv(envEndpoint) != "", nil
	}
	return false, Fault{name, "allowed: otlp, console or none"}
}

// SpanClient returns what sends spans; nil: nobody wants them. The library's clients read all variables of a protocol but the one
// that chooses it.
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

// MetricReader returns what sends the metrics of a producer from time to time; nil: nobody wants them.
func MetricReader(ctx context.Context, producer sdkmetric.Producer) (sdkmetric.Reader, error) {
	if wanted, err := wants(Metrics); !wanted {
		return nil, err
	}
	autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) { return producer, nil })
	return autoexport.NewMetricReader(ctx)
}

// NewLogs returns what takes log records for a collector, and the count of those that were lost; nil: nobody wants them.
func NewLogs(ctx context.Context) (sdklog.Processor, *Gate, error) {
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

// Resource says what the process is. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before it; what of them cannot be
// read is left out.
func Resource(ctx context.Context, service, version string) *resource.Resource {
	about, _ := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", service), attribute.String("service.version", version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv())
	return about
}

// defaultQueue is how many spans, and how many log records, may wait to be sent.
const defaultQueue = 2048

// variable reads a number above 0; what is none is the default, as in the SDK.
func variable(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(os.Getenv(name), 10, 32); err == nil && n > 0 {
		return n
	}
	return otherwise
}
