package telemetry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maker makes instruments and keeps what goes wrong for the end, so that a list of them reads as one.
type maker struct{ err error }

func (b *maker) note(err error) { b.err = errors.Join(b.err, err) }

func (b *maker) counter(m metric.Meter, name, unit, about string) metric.Int64Counter {
	c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
	b.note(err)
	return c
}

func (b *maker) histogram(m metric.Meter, name, unit, about string, bounds []float64) metric.Float64Histogram {
	h, err := m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
	b.note(err)
	return h
}

func (b *maker) gauge(m metric.Meter, name, unit, about string, read func() float64) {
	b.gaugeIf(m, name, unit, about, func() (float64, bool) { return read(), true })
}

// gaugeIf leaves out what is not known.
func (b *maker) gaugeIf(m metric.Meter, name, unit, about string, read func() (float64, bool)) {
	_, err := m.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			if value, known := read(); known {
				o.Observe(value)
			}
			return nil
		}))
	b.note(err)
}

func (b *maker) total(m metric.Meter, name, unit, about string, read func() int64) {
	_, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error { o.Observe(read()); return nil }))
	b.note(err)
}

// tallies count by one label, in numbers of their own that are read at a scrape: a poll that is answered from what is known
// costs so little that the SDK's counter would be felt.
type tallies struct{ of sync.Map } // value of the label → *atomic.Int64

func (c *tallies) count(value string) {
	n, ok := c.of.Load(value)
	if !ok {
		n, _ = c.of.LoadOrStore(value, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

func (c *tallies) watch(m metric.Meter, name, unit, about string, label attribute.Key) error {
	_, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			c.of.Range(func(value, n any) bool {
				o.Observe(n.(*atomic.Int64).Load(), metric.WithAttributes(label.String(value.(string))))
				return true
			})
			return nil
		}))
	return err
}

// QuotaUse is how far a team's quota is used, to be shown until it is replaced.
type QuotaUse struct {
	Unit   string
	Period string  // day or month
	Ratio  float64 // used and held over the limit; above 1 in debt
}

// gauges are what teams' quotas stood at when they were last looked at.
type gauges struct {
	mu    sync.Mutex
	teams map[string][]QuotaUse
}

// Quotas replaces what is shown of a team's quotas; none takes the team off the page.
func (m *Metrics) Quotas(team string, uses []QuotaUse) {
	if m == nil {
		return
	}
	m.quotas.mu.Lock()
	defer m.quotas.mu.Unlock()
	if m.quotas.teams == nil {
		m.quotas.teams = make(map[string][]QuotaUse)
	}
	if len(uses) == 0 {
		delete(m.quotas.teams, team)
		return
	}
	m.quotas.teams[team] = uses
}

func (g *gauges) observe(_ context.Context, o metric.Float64Observer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for team, uses := range g.teams {
		for _, use := range uses {
			o.Observe(use.Ratio, metric.WithAttributeSet(attribute.NewSet(
				labelTeam.String(team), labelUnit.String(use.Unit), labelPeriod.String(use.Period))))
		}
	}
	return nil
}
