package telemetry

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics are the process's instruments, and the page that shows them to Prometheus. Create it with [NewMetrics].
type Metrics struct {
	provider *sdk.MeterProvider
	meter    metric.Meter
	page     http.Handler
}

// NewMetrics makes instruments that nobody is sent: they are read where Handler is served.
func NewMetrics() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	return &Metrics{
		provider: provider, meter: provider.Meter("sluice"),
		page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}, nil
}

// Handler is the page for Prometheus.
func (m *Metrics) Handler() http.Handler { return m.page }

// Close ends the instruments.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// WatchState tells whether some team is not limited by the shared state at the moment: 1, or 0 when all is well. degraded
// is called for each reading and must not wait.
func (m *Metrics) WatchState(degraded func() bool) error {
	_, err := m.meter.Int64ObservableGauge(stateDegraded,
		metric.WithDescription("1 while some team is limited by this process alone, because Redis is away"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			if degraded() {
				o.Observe(1)
			} else {
				o.Observe(0)
			}
			return nil
		}))
	return err
}
