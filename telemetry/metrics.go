package telemetry

import (
	"context"
	"errors"
	"net/http"
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
	"go.opentelemetry.io/otel/sdk/resource"
)

// maxSeries bounds the series of one instrument; further label sets share one series. Labels are from closed sets, so only a teams
// file of thousands of teams comes near.
const maxSeries = 10_000

// Metrics are the process's instruments and the page that Prometheus scrapes. [Open] makes it. A nil Metrics measures nothing. Its
// methods may be called from any goroutine and do not wait.
type Metrics struct {
	provider *sdk.MeterProvider
	meter    metric.Meter
	page     http.Handler

	Mirror Mirror
	instruments
	quotas quotas
	house  quotas // of all teams together
}

// newMetrics makes the instruments. sender exports them; nil: they are only on the page.
func newMetrics(config Config, about *resource.Resource, sender sdk.Reader) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	page, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	options := []sdk.Option{
		sdk.WithReader(page), sdk.WithResource(about), sdk.WithCardinalityLimit(maxSeries), sdk.WithExemplarFilter(exemplar.AlwaysOffFilter),
	}
	if sender != nil {
		options = append(options, sdk.WithReader(sender))
	}
	provider := sdk.NewMeterProvider(options...)
	m := &Metrics{provider: provider, meter: provider.Meter(scope, metric.WithInstrumentationVersion(config.Version))}
	m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	b := builder{meter: m.meter}
	m.Mirror = newMirror(&b)
	if err := errors.Join(m.register(m.meter, config.Provider), b.err, m.watchOwn(config)); err != nil {
		return nil, err
	}
	return m, runtime.Start(runtime.WithMeterProvider(provider))
}

// Handler serves the page for Prometheus.
func (m *Metrics) Handler() http.Handler { return m.page }

func (m *Metrics) close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// Arrived adds a request to those in flight, until Served removes it.
func (m *Metrics) Arrived() {
	if m != nil {
		m.active.Add(context.Background(), 1)
	}
}

// Served measures a request that has ended.
func (m *Metrics) Served(r *Record) {
	if m == nil {
		return
	}
	m.active.Add(context.Background(), -1)
	m.served.get(servedKey{methodLabel(r.Method), r.Route, r.Team, statusLabel(r.Status)}).record(r.Duration.Seconds())
	m.overhead.record(r.Overhead.Seconds())
	if r.Queued > 0 {
		m.queued.get(r.Team).record(r.Queued.Seconds())
	}
	if r.Refusal != "" {
		m.refusals.add(refusedKey{r.Refusal, r.Team})
	}
}

// Used counts what was charged. model is from a closed set.
func (m *Metrics) Used(team, model string, charged *Cost) {
	if m == nil {
		return
	}
	for i, count := range m.charged {
		if count != nil && charged.Amounts[i] != 0 {
			count(charged, m.used.get(usedKey{team, model})...)
		}
	}
}

// Poll counts a poll of a task by the source of its answer: hit, miss, collapsed, stale.
func (m *Metrics) Poll(source string) {
	if m != nil {
		m.polls.add(source)
	}
}

// Settlement counts a settlement by the origin of its amount: a request's flag, or a task's outcome.
func (m *Metrics) Settlement(outcome string) {
	if m != nil {
		m.settlements.add(outcome)
	}
}

// Unpriced counts a request whose model has no price of what it used. model is from a closed set.
func (m *Metrics) Unpriced(model string) {
	if m != nil {
		m.unpriced.add(model)
	}
}

// The outcomes of reloads.
const (
	reloadOK     = "ok"
	reloadFaulty = "faulty"
)

// Reload counts a reload of a changed teams file.
func (m *Metrics) Reload(ok bool) {
	switch {
	case m == nil:
	case ok:
		m.reloads.add(reloadOK)
	default:
		m.reloads.add(reloadFaulty)
	}
}

// Alarm counts something that an operator must look into. code is from a closed set.
func (m *Metrics) Alarm(code string) {
	if m != nil {
		m.alarms.add(code)
	}
}

// Surplus counts a connection on which the service sent bytes that no request asked for.
func (m *Metrics) Surplus() {
	if m != nil {
		m.surplus.Add(context.Background(), 1)
	}
}

// Warning counts a request that breaks a rule and is let through.
func (m *Metrics) Warning(rule string) {
	if m != nil {
		m.warnings.add(rule)
	}
}

// Hook counts a try to deliver an event to a hook. Its id is from the teams, and outcome from a closed set.
func (m *Metrics) Hook(hook, outcome string) {
	if m != nil {
		m.hooks.add(hookKey{hook, outcome})
	}
}

// HouseAlert counts that the use of a quota of all teams together passed a percentage.
func (m *Metrics) HouseAlert(passed Passed) {
	if m != nil {
		m.houseAlerts.add(passed)
	}
}

// Redis measures a call of Redis. operation and failure are from closed sets; "" is no failure.
func (m *Metrics) Redis(operation, failure string, took time.Duration) {
	if m != nil {
		m.redis.get(redisKey{operation, failure}).record(took.Seconds())
	}
}

// Account is the state of an account at the service.
type Account struct {
	ID        string
	State     string           // one of the [accountStates]
	InFlight  int              // requests of this process
	Failovers map[string]int64 // requests that failed over to another account since the start, by reason
}

// accountStates are all states. An account has a series for each, so that an alert sees a state end.
var accountStates = [...]string{"ok", "cooling", "out", "draining"}

// accounts adds metrics of the accounts at the service. An account that leaves the accounts file leaves the page.
func (b *builder) accounts(read func() []Account) {
	b.intGauges(ownAccountState, "", "1 for the state in which an account at the service is, 0 for the others",
		func(_ context.Context, o metric.Int64Observer) error {
			for _, a := range read() {
				for _, state := range accountStates {
					is := int64(0)
					if a.State == state {
						is = 1
					}
					o.Observe(is, a.labels(labelState.String(state)))
				}
			}
			return nil
		})
	b.intGauges(ownAccountBusy, "{request}", "requests in flight on an account at the service",
		func(_ context.Context, o metric.Int64Observer) error {
			for _, a := range read() {
				o.Observe(int64(a.InFlight), a.labels())
			}
			return nil
		})
	b.totals(ownFailovers, "{failover}", "requests that were sent to another account, by the account that failed and the reason",
		func(_ context.Context, o metric.Int64Observer) error {
			for _, a := range read() {
				for reason, n := range a.Failovers {
					o.Observe(n, a.labels(labelReason.String(reason)))
				}
			}
			return nil
		})
}

func (a *Account) labels(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more, labelAccount.String(a.ID))...)
}

// Mirror counts pictures on their way to the operator's store.
type Mirror struct {
	stored, bytes, deleted, failed, lost metric.Int64Counter
}

func newMirror(b *builder) Mirror {
	m := Mirror{
		stored: b.counter(ownMirrorStored, "{picture}", "pictures of tasks that were stored"),
		bytes:  b.counter(ownMirrorBytes, "By", "bytes of pictures of tasks that were stored"),
		deleted: b.counter(ownMirrorDeleted, "{picture}", "pictures of tasks that were deleted from the store because their team keeps them "+
			"no longer"),
		failed: b.counter(ownMirrorFailed, "{try}", "failed attempts to store a picture, by what failed: fetch, its host; store, the store"),
		lost: b.counter(ownMirrorLost, "{picture}", "pictures that are never stored, by reason: expired, their address ended first; "+
			"refused, not a picture or too large"),
	}
	if b.err == nil { // makes the series exist from the start
		for _, c := range []metric.Int64Counter{m.stored, m.bytes, m.deleted} {
			c.Add(context.Background(), 0)
		}
		for _, reason := range []string{"expired", "refused"} {
			m.lost.Add(context.Background(), 0, because(reason))
		}
		for _, reason := range []string{"fetch", "store"} {
			m.failed.Add(context.Background(), 0, because(reason))
		}
	}
	return m
}

func because(reason string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(labelReason.String(reason)))
}

// MirrorStored counts a picture that was stored.
func (m *Mirror) MirrorStored(bytes int) {
	m.stored.Add(context.Background(), 1)
	m.bytes.Add(context.Background(), int64(bytes))
}

// MirrorFailed counts a try to store a picture that failed. reason is from a closed set.
func (m *Mirror) MirrorFailed(reason string) {
	m.failed.Add(context.Background(), 1, because(reason))
}

// MirrorLost counts a picture that is never stored. reason is from a closed set.
func (m *Mirror) MirrorLost(reason string) {
	m.lost.Add(context.Background(), 1, because(reason))
}

// MirrorDeleted counts pictures that were deleted when their time to keep ended.
func (m *Mirror) MirrorDeleted(pictures int) {
	m.deleted.Add(context.Background(), int64(pictures))
}
