package telemetry

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
	signalTraces  = "traces"
	signalMetrics = "metrics"
	signalLogs    = "logs"
)

// The SDK's own variables that are looked at here: the SDK and its exporters read all others.
const (
	envDisabled     = "OTEL_SDK_DISABLED"
	envEndpoint     = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envProtocol     = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envSpanProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envSampler      = "OTEL_TRACES_SAMPLER"
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

// EnvironmentFault is a variable whose value means nothing here.
type EnvironmentFault struct{ Name, Text string }

// Error says both.
func (f EnvironmentFault) Error() string { return f.Name + ": " + f.Text }

// EnvironmentFaults lists the variables that [Open] would refuse, or that the SDK would pass over in silence and then send
// to another place or without a credential. Values are not shown: they may be secrets.
func EnvironmentFaults() []EnvironmentFault {
	var faults []EnvironmentFault
	for _, signal := range []string{signalTraces, signalMetrics, signalLogs} {
		var fault EnvironmentFault
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
				faults = append(faults, EnvironmentFault{name, "allowed: " + check.allowed})
			}
		}
	}
	if value := os.Getenv("OTEL_RESOURCE_ATTRIBUTES"); value != "" && !isList(value) {
		faults = append(faults, EnvironmentFault{"OTEL_RESOURCE_ATTRIBUTES", "allowed: name=value, several with commas between them"})
	}
	if os.Getenv("OTEL_METRICS_PRODUCERS") != "" {
		faults = append(faults, EnvironmentFault{"OTEL_METRICS_PRODUCERS", "is not supported: what is sent is what /metrics shows"})
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
		if signal == signalMetrics {
			return false, nil // the page of the admin listener is always there
		}
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_"+upper+"_ENDPOINT") != "" || signal != signalLogs && os.Getenv(envEndpoint) != "", nil
	}
	return false, EnvironmentFault{name, "allowed: otlp, console or none"}
}

// spanClient is what sends spans; nil: nobody wants them. The library's clients read all variables of a protocol but the one
// that chooses it.
func spanClient(ctx context.Context) (otlptrace.Client, error) {
	if wanted, err := wants(signalTraces); !wanted {
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
		return nil, EnvironmentFault{envSpanProtocol + " or " + envProtocol, "allowed: " + protocols}
	}
	return client, client.Start(ctx)
}

func metricReader(ctx context.Context, producer sdkmetric.Producer) (sdkmetric.Reader, error) {
	if wanted, err := wants(signalMetrics); !wanted {
		return nil, err
	}
	autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) { return producer, nil })
	return autoexport.NewMetricReader(ctx)
}

func logExporter(ctx context.Context) (sdklog.Exporter, error) {
	if wanted, err := wants(signalLogs); !wanted {
		return nil, err
	}
	return autoexport.NewLogExporter(ctx)
}

// describe says what the process is. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before it; what of them cannot be read
// is left out.
func describe(ctx context.Context, config Config) *resource.Resource {
	about, _ := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", scope), attribute.String("service.version", config.Version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv())
	return about
}

// latestGenAI chooses, among the conventions for generative models, the newest instead of version 1.41. Of what is told here
// they differ in one point: fetch_response is theirs, and its span names what was fetched as gen_ai.response.id.
const latestGenAI = "gen_ai_latest_experimental"

// optsIn reads the standard's list of conventions that are preferred to the default ones.
func optsIn(to string) bool {
	for word := range strings.SplitSeq(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		if strings.TrimSpace(word) == to {
			return true
		}
	}
	return false
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
