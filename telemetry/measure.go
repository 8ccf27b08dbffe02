package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// What a label hangs on, of each instrument.
type (
	servedKey struct {
		method, route, team string
		status              int
	}
	refusedKey struct{ refusal, team string }
	callKey    struct{ operation, model, team, failure string }
	usedKey    struct{ team, model string }
	redisKey   struct{ operation, failure string }
)

// callPoints are the points of the instruments of models, which are looked up together.
type callPoints struct{ call, input, output, first, each *point }

func (m *Metrics) makeSeries() {
	m.servedSeries = newSeries(func(k servedKey) *point {
		return newPoint(m.httpDuration, httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team))
	})
	m.refusedSeries = newSeries(func(k refusedKey) []metric.AddOption {
		stage, reason, _ := strings.Cut(k.refusal, "/")
		return labelled(labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team))
	})
	m.callSeries = newSeries(m.pointsOfCall)
	m.usedSeries = newSeries(func(k usedKey) []metric.AddOption {
		return labelled(labelTeam.String(k.team), labelModel.String(k.model))
	})
	m.redisSeries = newSeries(func(k redisKey) *point {
		of := []attribute.KeyValue{dbSystem.String("redis"), dbOperation.String(k.operation)}
		if k.failure != "" {
			of = append(of, errorType.String(k.failure))
		}
		return newPoint(m.redis, of...)
	})
	one := func(label attribute.Key) *series[string, []metric.AddOption] {
		return newSeries(func(value string) []metric.AddOption { return labelled(label.String(value)) })
	}
	m.settledSeries, m.reloadSeries, m.alarmSeries, m.warnedSeries = one(labelOutcome), one(labelOutcome), one(labelCode), one(labelRule)
}

// pointsOfCall leave out the service's address: it is one.
func (m *Metrics) pointsOfCall(k callKey) callPoints {
	of := []attribute.KeyValue{genOperation.String(k.operation), genProvider.String(m.config.Provider), genModel.String(k.model), ownTeam.String(k.team)}
	of = of[:len(of):len(of)]
	points := callPoints{
		input: newPoint(m.tokens, append(of, genTokenType.String("input"))...), output: newPoint(m.tokens, append(of, genTokenType.String("output"))...),
		first: newPoint(m.firstChunk, of...), each: newPoint(m.eachChunk, of...),
	}
	if k.failure != "" {
		of = append(of, errorType.String(k.failure))
	}
	points.call = newPoint(m.duration, of...)
	return points
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
	m.active.Add(-1)
	m.servedSeries.get(servedKey{methodLabel(r.Method), r.Route, r.Team, statusLabel(r.Status)}).record(r.Duration.Seconds())
	m.overhead.record(r.Overhead.Seconds())
	if r.Refusal != "" {
		m.refusals.Add(context.Background(), 1, m.refusedSeries.get(refusedKey{r.Refusal, r.Team})...)
	}
}

// Used counts what was charged: images, and money in 10⁻⁹ of the currency. model is from a closed set.
func (m *Metrics) Used(team, model string, images, spend int64) {
	if m == nil || images == 0 && spend == 0 {
		return
	}
	ctx, of := context.Background(), m.usedSeries.get(usedKey{team, model})
	if images > 0 {
		m.images.Add(ctx, images, of...)
	}
	if spend > 0 {
		m.spend.Add(ctx, float64(spend)/1e9, of...)
	}
}

// Poll counts a poll of a task by where its answer came from: hit, miss, collapsed, stale.
func (m *Metrics) Poll(source string) {
	if m != nil {
		m.polls.count(source)
	}
}

// Settlement counts what was charged or given back, by how its amount came about: a request's flag, or the end of a
// task.
func (m *Metrics) Settlement(outcome string) {
	if m != nil {
		m.settled.Add(context.Background(), 1, m.settledSeries.get(outcome)...)
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
	m.reloads.Add(context.Background(), 1, m.reloadSeries.get(outcome)...)
}

// Alarm counts something that an operator has to look into. code is one of few.
func (m *Metrics) Alarm(code string) {
	if m != nil {
		m.alarms.Add(context.Background(), 1, m.alarmSeries.get(code)...)
	}
}

// Surplus counts a connection on which upstream said what it was not asked.
func (m *Metrics) Surplus() {
	if m != nil {
		m.surplus.Add(1)
	}
}

// Warning counts a request that breaks a rule and is let through.
func (m *Metrics) Warning(rule string) {
	if m != nil {
		m.warnings.Add(context.Background(), 1, m.warnedSeries.get(rule)...)
	}
}

// Redis measures a call of Redis. operation and failure are words of few; "" is no failure.
func (m *Metrics) Redis(operation, failure string, took time.Duration) {
	if m != nil {
		m.redisSeries.get(redisKey{operation, failure}).record(took.Seconds())
	}
}
