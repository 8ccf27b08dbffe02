package telemetry

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
)

// mostSeries bounds the series of one instrument; beyond it they are counted together. Labels are from closed sets, so only a
// teams file of thousands of teams comes near.
const mostSeries = 10_000

// scope is the name of what measures, for OpenTelemetry.
const scope = "sluice"

// Metrics are the process's instruments and the page that shows them to Prometheus. [Open] makes it. A nil Metrics measures
// nothing. Its methods may be called from any goroutine and do not wait.
type Metrics struct {
	provider *sdk.MeterProvider
	meter    metric.Meter
	page     http.Handler

	instruments
	quotas quotas
}

// newMetrics makes the instruments. sender sends what they measure; nil: only the page shows it.
func newMetrics(config Config, about *resource.Resource, sender sdk.Reader) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	page, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	options := []sdk.Option{
		sdk.WithReader(page), sdk.WithResource(about), sdk.WithCardinalityLimit(mostSeries), sdk.WithExemplarFilter(exemplar.AlwaysOffFilter),
	}
	if sender != nil {
		options = append(options, sdk.WithReader(sender))
	}
	provider := sdk.NewMeterProvider(options...)
	m := &Metrics{provider: provider, meter: provider.Meter(scope, metric.WithInstrumentationVersion(config.Version))}
	m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	if err := errors.Join(m.register(m.meter, config.Provider), m.watchOwn(config)); err != nil {
		return nil, err
	}
	return m, runtime.Start(runtime.WithMeterProvider(provider))
}

// Handler is the page for Prometheus.
func (m *Metrics) Handler() http.Handler { return m.page }

func (m *Metrics) close(ctx context.Context) error { return m.provider.Shutdown(ctx) }
