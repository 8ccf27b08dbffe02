package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// What a label hangs on, of each instrument.
type (
	servedKey struct {
		method, route, team string
		status              int
	}
	refusedKey struct{ refusal, team string }
	callKey    struct{ operation, model, team, failure string }
	tokenKey   struct {
		operation, model, team string
		output                 bool
	}
	usedKey  struct{ team, model string }
	redisKey struct{ operation, failure string }
)

func (m *Metrics) makeSeries() {
	m.servedSeries = newSeries(func(k servedKey) []attribute.KeyValue {
		return []attribute.KeyValue{httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team)}
	})
	m.refusedSeries = newSeries(func(k refusedKey) []attribute.KeyValue {
		stage, reason, _ := strings.Cut(k.refusal, "/")
		return []attribute.KeyValue{labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team)}
	})
	m.callSeries = newSeries(func(k callKey) []attribute.KeyValue {
		of := m.genAI(k.operation, k.model, k.team)
		if k.failure != "" {
			of = append(of, errorType.String(k.failure))
		}
		return of
	})
	m.tokenSeries = newSeries(func(k tokenKey) []attribute.KeyValue {
		kind := "input"
		if k.output {
			kind = "output"
		}
		return append(m.genAI(k.operation, k.model, k.team), genTokenType.String(kind))
	})
	m.usedSeries = newSeries(func(k usedKey) []attribute.KeyValue {
		return []attribute.KeyValue{labelTeam.String(k.team), labelModel.String(k.model)}
	})
	m.redisSeries = newSeries(func(k redisKey) []attribute.KeyValue {
		of := []attribute.KeyValue{dbSystem.String("redis"), dbOperation.String(k.operation)}
		if k.failure != "" {
			of = append(of, errorType.String(k.failure))
		}
		return of
	})
	one := func(label attribute.Key) *series[string] {
		return newSeries(func(value string) []attribute.KeyValue { return []attribute.KeyValue{label.String(value)} })
	}
	m.polledSeries, m.settledSeries, m.reloadSeries, m.alarmSeries = one(labelSource), one(labelOutcome), one(labelOutcome), one(labelCode)
}

func (m *Metrics) genAI(operation, model, team string) []attribute.KeyValue {
	return []attribute.KeyValue{
		genOperation.String(operation), genProvider.String(m.config.Provider), genModel.String(model),
		serverHost.String(m.config.upstreamHost()), serverPort.Int(m.config.upstreamPort()), ownTeam.String(team),
	}
}

// Arrived counts a request in, until Served counts it out.
func (m *Metrics) Arrived() {
	if m != nil {
		m.active.Add(1)
	}
}

// Served measures a request that has ended.
func (m *Metrics) Served(r *Record) {
	if m == nil {
		return
	}
	ctx := context.Background()
	m.active.Add(-1)
	m.httpDuration.Record(ctx, r.Duration.Seconds(), m.servedSeries.get(servedKey{methodLabel(r.Method), r.Route, r.Team, statusLabel(r.Status)}))
	m.overhead.Record(ctx, r.Overhead.Seconds())
	if r.Refusal != "" {
		m.refusals.Add(ctx, 1, m.refusedSeries.get(refusedKey{r.Refusal, r.Team}))
	}
}

// Used counts what was charged: images, and money in 10⁻⁹ of the currency. model is from a closed set.
func (m *Metrics) Used(team, model string, images, spend int64) {
	if m == nil || images == 0 && spend == 0 {
		return
	}
	ctx, of := context.Background(), m.usedSeries.get(usedKey{team, model})
	if images > 0 {
		m.images.Add(ctx, images, of)
	}
	if spend > 0 {
		m.spend.Add(ctx, float64(spend)/1e9, of)
	}
}

// Poll counts a poll of a task by where its answer came from: hit, miss, collapsed, stale.
func (m *Metrics) Poll(source string) {
	if m != nil {
		m.polls.Add(context.Background(), 1, m.polledSeries.get(source))
	}
}

// Settlement counts what was charged or given back, by how its amount came about: a request's flag, or the end of a
// task.
func (m *Metrics) Settlement(outcome string) {
	if m != nil {
		m.settled.Add(context.Background(), 1, m.settledSeries.get(outcome))
	}
}

// Reload counts a reading of a changed teams file.
func (m *Metrics) Reload(ok bool) {
	if m == nil {
		return
	}
	outcome := "ok"
	if !ok {
		outcome = "faulty"
	}
	m.reloads.Add(context.Background(), 1, m.reloadSeries.get(outcome))
}

// Alarm counts something that an operator has to look into. code is one of few.
func (m *Metrics) Alarm(code string) {
	if m != nil {
		m.alarms.Add(context.Background(), 1, m.alarmSeries.get(code))
	}
}

// Redis measures a call of Redis. operation and failure are words of few; "" is no failure.
func (m *Metrics) Redis(operation, failure string, took time.Duration) {
	if m != nil {
		m.redis.Record(context.Background(), took.Seconds(), m.redisSeries.get(redisKey{operation, failure}))
	}
}
