package telemetry

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"sluice/telemetry/otlp"
)

// mostSeries bounds the series of one instrument; what is past it is one series together. Labels are from closed sets,
// so only a teams file of thousands of teams comes near.
const mostSeries = 10_000

// Metrics are the process's instruments, and the page that shows them to Prometheus. It is made by [Open]. A nil Metrics
// measures nothing. Its methods are called from any goroutine and wait for nothing.
type Metrics struct {
	provider *sdk.MeterProvider
	meter    metric.Meter
	reader   sdk.Reader
	page     http.Handler
	config   Config
	active   atomic.Int64 // requests in flight
	surplus  atomic.Int64 // connections to upstream
	quotas   gauges

	httpDuration, redis             metric.Float64Histogram
	duration, firstChunk, eachChunk metric.Float64Histogram
	tokens                          metric.Float64Histogram
	overhead                        *point

	images                     metric.Int64Counter
	spend                      metric.Float64Counter
	refusals, settled, reloads metric.Int64Counter
	alarms, warnings           metric.Int64Counter

	servedSeries  *series[servedKey, *point]
	refusedSeries *series[refusedKey, []metric.AddOption]
	callSeries    *series[callKey, callPoints]
	usedSeries    *series[usedKey, []metric.AddOption]
	redisSeries   *series[redisKey, *point]
	polls         tallies
	settledSeries *series[string, []metric.AddOption]
	reloadSeries  *series[string, []metric.AddOption]
	alarmSeries   *series[string, []metric.AddOption]
	warnedSeries  *series[string, []metric.AddOption]
}

// newMetrics makes the instruments.
func newMetrics(config Config) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{config: config}
	page, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	provider := sdk.NewMeterProvider(sdk.WithReader(page), sdk.WithCardinalityLimit(mostSeries), sdk.WithExemplarFilter(exemplar.AlwaysOffFilter))
	m.provider, m.meter, m.reader = provider, provider.Meter(scope, metric.WithInstrumentationVersion(config.Version)), page
	m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	m.makeSeries()
	if err := m.makeInstruments(); err != nil {
		return nil, err
	}
	return m, runtime.Start(runtime.WithMeterProvider(provider))
}

// scope names what measures, to OpenTelemetry.
const scope = "sluice"

func (m *Metrics) makeInstruments() error {
	var build maker
	m.httpDuration = build.histogram(m.meter, httpDuration, "s", "duration of requests, from arrival to the end of the answer", durationBounds)
	m.overhead = newPoint(build.histogram(m.meter, ownOverhead, "s", "the part of a request's duration that is spent neither on upstream nor on the client's connection", overheadBounds))
	m.duration = build.histogram(m.meter, genDuration, "s", "duration of calls of the service", durationBounds)
	m.firstChunk = build.histogram(m.meter, genFirstChunk, "s", "time to the first bytes of a stream", durationBounds)
	m.eachChunk = build.histogram(m.meter, genEachChunk, "s", "time between arrivals of bytes of a stream", durationBounds)
	m.redis = build.histogram(m.meter, redisDuration, "s", "duration of calls of Redis", overheadBounds)
	m.tokens = build.histogram(m.meter, genTokens, "{token}", "tokens that a call used, by type", tokenBounds)
	m.images = build.counter(m.meter, ownImages, "{image}", "images that were charged")
	m.refusals = build.counter(m.meter, ownRefusals, "{refusal}", "requests that Sluice refused, by stage and reason")
	build.note(m.polls.watch(m.meter, ownPolls, "{poll}", "polls of tasks, by where the answer came from", labelSource))
	m.settled = build.counter(m.meter, ownSettlements, "{settlement}", "settlements, by how the amount came about")
	m.reloads = build.counter(m.meter, ownReloads, "{reload}", "readings of a changed teams file, by outcome")
	m.alarms = build.counter(m.meter, ownAlarms, "{alarm}", "what upstream or a client said that an operator has to look into, by code")
	m.warnings = build.counter(m.meter, ownWarnings, "{warning}", "requests that break a rule whose mode is warn, by rule")
	build.total(m.meter, ownSurplus, "{connection}", "connections on which upstream said what it was not asked, and that were closed for it", m.surplus.Load)
	spend, err := m.meter.Float64Counter(ownSpend, metric.WithDescription("money that was charged, in the teams file's currency"))
	m.spend = spend
	build.note(err)
	m.watch(&build)
	return build.err
}

// watch makes the gauges that are read at a scrape.
func (m *Metrics) watch(build *maker) {
	build.gauge(m.meter, httpActive, "{request}", "requests in flight", func() float64 { return float64(m.active.Load()) })
	info := metric.WithAttributeSet(attribute.NewSet(
		attribute.String("version", m.config.Version), attribute.String("revision", m.config.Revision), attribute.String("go_version", m.config.GoVersion)))
	_, err := m.meter.Int64ObservableGauge(ownBuild, metric.WithDescription("what this binary was built from; always 1"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error { o.Observe(1, info); return nil }))
	build.note(err)
	_, err = m.meter.Float64ObservableGauge(ownQuotaUsed, metric.WithDescription("the part of a team's quota that is used or held"),
		metric.WithFloat64Callback(m.quotas.observe))
	build.note(err)
}

// Watched are what a scrape reads of the rest of the process. Its functions must not wait. A nil one is left out.
type Watched struct {
	Degraded    func() bool                       // some team is limited by this process alone
	Replicas    func() (alive, set int64)         // how many replicas are alive, 0 where that is not known, and are set
	Holds       func() (int, time.Duration, bool) // open holds, and the age of the oldest; false: not known yet
	TeamsFaulty func() bool                       // the newest teams file is faulty and the one before is in force
	LogDropped  func() uint64                     // lines that were lost
}

// Watch adds gauges that tell of the rest of the process.
func (m *Metrics) Watch(w Watched) error {
	var build maker
	if w.Degraded != nil {
		build.gauge(m.meter, ownDegraded, "", "1 while some team is limited by this process alone, because Redis is away", func() float64 { return oneIf(w.Degraded()) })
	}
	if w.Replicas != nil {
		_, err := m.meter.Int64ObservableGauge(ownReplicas, metric.WithDescription("replicas: alive, of which Redis heard in the last 30 seconds, and set by SLUICE_REPLICAS"),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				alive, set := w.Replicas()
				o.Observe(alive, metric.WithAttributes(labelSource.String("alive")))
				o.Observe(set, metric.WithAttributes(labelSource.String("set")))
				return nil
			}))
		build.note(err)
	}
	if w.Holds != nil {
		build.gaugeIf(m.meter, ownHoldsOpen, "{hold}", "holds that are not settled", func() (float64, bool) {
			open, _, known := w.Holds()
			return float64(open), known
		})
		build.gaugeIf(m.meter, ownHoldsOldest, "s", "age of the oldest hold that is not settled", func() (float64, bool) {
			_, age, known := w.Holds()
			return age.Seconds(), known
		})
	}
	if w.TeamsFaulty != nil {
		build.gauge(m.meter, ownTeamsFaulty, "", "1 while the newest teams file is faulty and the one before is in force", func() float64 { return oneIf(w.TeamsFaulty()) })
	}
	if w.LogDropped != nil {
		build.total(m.meter, ownLogDropped, "{line}", "log lines that were lost, because the output does not keep up", func() int64 { return int64(w.LogDropped()) })
	}
	return build.err
}

// watchDropped tells of what exporters lost.
func (m *Metrics) watchDropped(gates map[string]*otlp.Gate) error {
	if len(gates) == 0 {
		return nil
	}
	_, err := m.meter.Int64ObservableCounter(ownOtherDropped, metric.WithUnit("{item}"), metric.WithDescription("spans or log records that were not sent, by why: no room in the queue, or the collector refused them or was not there"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for signal, gate := range gates {
				for reason, n := range map[string]int64{"queue": gate.Full(), "collector": gate.Refused()} {
					o.Observe(n, metric.WithAttributes(labelSignal.String(signal), labelReason.String(reason)))
				}
			}
			return nil
		}))
	return err
}

// Produce implements the SDK's interface: it is what the page shows, for whoever sends it.
func (m *Metrics) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var all metricdata.ResourceMetrics
	err := m.reader.Collect(ctx, &all)
	return all.ScopeMetrics, err
}

// Handler is the page for Prometheus.
func (m *Metrics) Handler() http.Handler { return m.page }

func (m *Metrics) close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
