package telemetry

import (
	"log/slog"
	"net/url"
	"strconv"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Config describes the process to telemetry. The OpenTelemetry SDK's own environment variables decide what is sent, and where to.
type Config struct {
	Logger    *slog.Logger // for errors of exporters; required
	Version   string       // of this binary
	Revision  string
	GoVersion string

	Provider string   // gen_ai.provider.name
	Upstream *url.URL // the service's base address; nil: spans leave it out

	Join         bool // join a client's trace; else link to it
	SendUpstream bool // send the trace context to the service
	Capture      bool // put prompts and answers into spans

	// Exporter sends the spans. Nil: the exporter that OTEL_* selects, if any; without one no span is made.
	Exporter sdktrace.SpanExporter
}

// serverOf returns an address's host and port; for nil "" and 0, which spans leave out.
func serverOf(address *url.URL) (host string, port int64) {
	if address == nil {
		return "", 0
	}
	port, err := strconv.ParseInt(address.Port(), 10, 64)
	switch {
	case err == nil:
	case address.Scheme == "https":
		port = 443
	default:
		port = 80
	}
	return address.Hostname(), port
}

// scope is the instrumentation scope's name for OpenTelemetry.
const scope = "sluice"
