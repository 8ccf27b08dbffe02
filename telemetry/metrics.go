package telemetry

import (
	"context"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics are the process's instruments, and the page that shows them to Prometheus. Create it with [NewMetrics].
type Metrics struct {
	provider *sdk.MeterProvider
	meter    metric.Meter
	page     http.Handler

	polls, settlements *counter
}

// NewMetrics makes instruments that nobody is sent: they are read where Handler is served.
func NewMetrics() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	m := &Metrics{
		provider: provider, meter: provider.Meter("sluice"),
		page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}
	if m.polls, err = m.newCounter(taskPolls, "source", "polls of tasks, by where the answer came from"); err != nil {
		return nil, err
	}
	m.settlements, err = m.newCounter(settlements, "outcome", "settlements, by how the amount came about")
	return m, err
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

// Poll counts a poll of a task by where its answer came from: hit, miss, collapsed, stale. A nil Metrics counts nothing.
func (m *Metrics) Poll(source string) {
	if m != nil {
		m.polls.count(source)
	}
}

// Settlement counts what was charged or given back, by how its amount came about: a request's flag, or the end of a
// task. A nil Metrics counts nothing.
func (m *Metrics) Settlement(outcome string) {
	if m != nil {
		m.settlements.count(outcome)
	}
}

// counter counts by one label, whose values are few and known.
type counter struct {
	instrument metric.Int64Counter
	label      string
	sets       sync.Map // value → metric.MeasurementOption, made once
}

func (m *Metrics) newCounter(name, label, about string) (*counter, error) {
	instrument, err := m.meter.Int64Counter(name, metric.WithDescription(about))
	return &counter{instrument: instrument, label: label}, err
}

func (c *counter) count(value string) {
	set, ok := c.sets.Load(value)
	if !ok {
		set, _ = c.sets.LoadOrStore(value, metric.WithAttributeSet(attribute.NewSet(attribute.String(c.label, value))))
	}
	c.instrument.Add(context.Background(), 1, set.(metric.MeasurementOption))
}
