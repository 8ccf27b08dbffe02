package telemetry

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// What is sent hangs on what is set, and on nothing else.
func TestWants(t *testing.T) {
	for _, tt := range []struct {
		variables string
		want      string // the signals that are sent
	}{
		{"", ""},
		{"OTEL_SERVICE_NAME=x OTEL_TRACES_SAMPLER=always_on", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "traces metrics"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_METRICS_EXPORTER=none", "traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_METRICS_EXPORTER=prometheus", "traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_SDK_DISABLED=TRUE", ""},
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://127.0.0.1:1", "logs"},
		{"OTEL_LOGS_EXPORTER=otlp OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=otlp", "traces metrics logs"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1", "traces"},
	} {
		t.Run(tt.variables, func(t *testing.T) {
			for pair := range strings.FieldsSeq(tt.variables) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(tells.Sent, " "); got != tt.want {
				t.Errorf("%q is sent, want %q", got, tt.want)
			}
			_ = tells.Close(t.Context()) // nobody takes it
		})
	}
}

// H08: what cannot be read is a fault, told without its value: by us, and by the library not at all.
func TestH08EnvironmentFaults(t *testing.T) {
	for variable, faulty := range map[string]bool{
		"OTEL_TRACES_EXPORTER=CANARY":                              true,
		"OTEL_EXPORTER_OTLP_ENDPOINT=CANARY":                       true,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:CANARY@h:%zz":     true,
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json":             true,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                         false,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key: CANARY":               true,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=CANARY%zz":             true,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=CANARY%20x,b=c":        false,
		"OTEL_RESOURCE_ATTRIBUTES=CANARY":                          true,
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=dev": false,
		"OTEL_METRICS_PRODUCERS=none":                              true,
	} {
		t.Run(variable, func(t *testing.T) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
			faults := EnvironmentFaults()
			if (len(faults) > 0) != faulty || faulty && faults[0].Name != name || strings.Contains(fmt.Sprint(faults), "CANARY") {
				t.Errorf("%v", faults)
			}
			t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
			var log bytes.Buffer
			if tells, err := Open(t.Context(), Config{Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}); err == nil {
				_ = tells.Close(t.Context()) // nobody takes it
			}
			if strings.Contains(log.String(), "CANARY") {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}
