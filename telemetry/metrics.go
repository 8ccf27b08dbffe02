package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
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
	reader   sdk.Reader
	page     http.Handler

	instruments
	labelled labelled
	quotas   quotas
}

func newMetrics(config Config) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := new(Metrics)
	m.histograms.begun, m.histograms.scope = time.Now(), instrumentation.Scope{Name: scope, Version: config.Version}
	page, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo(), exporter.WithProducer(&m.histograms))
	if err != nil {
		return nil, err
	}
	provider := sdk.NewMeterProvider(sdk.WithReader(page), sdk.WithCardinalityLimit(mostSeries), sdk.WithExemplarFilter(exemplar.AlwaysOffFilter))
	m.provider, m.meter, m.reader = provider, provider.Meter(scope, metric.WithInstrumentationVersion(config.Version)), page
	m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	if err := m.register(m.meter); err != nil {
		return nil, err
	}
	m.labelled = m.label(config.Provider)
	if err := m.watchOwn(config); err != nil {
		return nil, err
	}
	return m, runtime.Start(runtime.WithMeterProvider(provider))
}

// Produce implements the SDK's interface: it returns what the page shows, to be sent to a collector.
func (m *Metrics) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var all metricdata.ResourceMetrics
	err := m.reader.Collect(ctx, &all)
	return all.ScopeMetrics, err
}

// Handler is the page for Prometheus.
func (m *Metrics) Handler() http.Handler { return m.page }

func (m *Metrics) close(ctx context.Context) error { return m.provider.Shutdown(ctx) }
