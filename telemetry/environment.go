package telemetry

import (
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// The signals, named as in variables and in the labels of metrics.
const (
	signalTraces  = "traces"
	signalMetrics = "metrics"
	signalLogs    = "logs"
)

// The SDK's variables that are read here. The SDK and its exporters read all others.
const (
	envDisabled  = "OTEL_SDK_DISABLED"
	envEndpoint  = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envSpanQueue = "OTEL_BSP_MAX_QUEUE_SIZE"
	envSpanBatch = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
	envLogQueue  = "OTEL_BLRP_MAX_QUEUE_SIZE"
)

// The protocols of OTLP that are supported.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
	protocols    = protocolHTTP + " or " + protocolGRPC
)

// Fault is an invalid value of one of the SDK's variables.
type Fault struct {
	Name string // of the variable
	Text string // what is allowed; never the value, which may be a secret
}

// Error returns the name and the text.
func (f Fault) Error() string { return f.Name + ": " + f.Text }

// Faults returns the invalid values, also those that the SDK ignores silently: it would then send to the default endpoint or
// without a credential.
func Faults() []Fault {
	var faults []Fault
	for _, signal := range []string{signalTraces, signalMetrics, signalLogs} {
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

// isList reports whether a text is a list of name=value pairs, the form of headers and resource attributes.
func isList(value string) bool {
	for pair := range strings.SplitSeq(value, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !ok || err != nil || strings.TrimSpace(name) == "" {
			return false
		}
	}
	return true
}

// wants reports whether a signal is sent: its exporter or an endpoint is set. Without either it is not sent, while the SDK would
// try localhost. Log records are sent only if their own variables are set, because many operators already collect the log from
// standard output.
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
			return false, nil // the admin listener always serves /metrics
		}
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_"+upper+"_ENDPOINT") != "" || signal != signalLogs && os.Getenv(envEndpoint) != "", nil
	}
	return false, Fault{name, "allowed: otlp, console or none"}
}

// variable reads a positive number. Any other value counts as not set, as in the SDK.
func variable(name string, otherwise int) int {
	if n, err := strconv.ParseInt(os.Getenv(name), 10, 32); err == nil && n > 0 {
		return int(n)
	}
	return otherwise
}
