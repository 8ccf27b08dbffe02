// Package otlp sends spans, metrics and log records to an OpenTelemetry collector, as the SDK's own OTEL_* variables say.
//
// Exporters and batches are the SDK's. The package reads the variables that choose between them, keeps what waits to be sent
// within bounds, and counts what is lost.
//
// It knows nothing of requests, tasks or models: package telemetry decides what a span tells.
package otlp
