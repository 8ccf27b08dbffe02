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
	usedKey    struct{ team, model string }
	redisKey   struct{ operation, failure string }
)

// callLabels are the sets of the instruments of models, which are looked up together.
type callLabels struct{ call, input, output labels }

func (m *Metrics) makeSeries() {
	m.servedSeries = newSeries(func(k servedKey) labels {
		return labelled(httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team))
	})
	m.refusedSeries = newSeries(func(k refusedKey) labels {
		stage, reason, _ := strings.Cut(k.refusal, "/")
		return labelled(labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team))
	})
	m.callSeries = newSeries(m.labelsOfCall)
	m.usedSeries = newSeries(func(k usedKey) labels {
		return labelled(labelTeam.String(k.team), labelModel.String(k.model))
	})
	m.redisSeries = newSeries(func(k redisKey) labels {
		of := []attribute.KeyValue{dbSystem.String("redis"), dbOperation.String(k.operation)}
		if k.failure != "" {
			of = append(of, errorType.String(k.failure))
		}
		return labelled(of...)
	})
	one := func(label attribute.Key) *series[string, labels] {
		return newSeries(func(value string) labels { return labelled(label.String(value)) })
	}
	m.polledSeries, m.settledSeries, m.reloadSeries, m.alarmSeries, m.warnedSeries = one(labelSource), one(labelOutcome), one(labelOutcome), one(labelCode), one(labelRule)
}

// labelsOfCall leave out the service's address: it is one, and each label costs every measurement.
func (m *Metrics) labelsOfCall(k callKey) callLabels {
	of := []attribute.KeyValue{genOperation.String(k.operation), genProvider.String(m.config.Provider), genModel.String(k.model), ownTeam.String(k.team)}
	of = of[:len(of):len(of)]
	all := callLabels{input: labelled(append(of, genTokenType.String("input"))...), output: labelled(append(of, genTokenType.String("output"))...)}
	if k.failure != "" {
		of = append(of, errorType.String(k.failure))
	}
	all.call = labelled(of...)
	return all
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
	m.httpDuration.Record(ctx, r.Duration.Seconds(), m.servedSeries.get(servedKey{methodLabel(r.Method), r.Route, r.Team, statusLabel(r.Status)}).record...)
	m.overhead.Record(ctx, r.Overhead.Seconds())
	if r.Refusal != "" {
		m.refusals.Add(ctx, 1, m.refusedSeries.get(refusedKey{r.Refusal, r.Team}).add...)
	}
}

// Used counts what was charged: images, and money in 10⁻⁹ of the currency. model is from a closed set.
func (m *Metrics) Used(team, model string, images, spend int64) {
	if m == nil || images == 0 && spend == 0 {
		return
	}
	ctx, of := context.Background(), m.usedSeries.get(usedKey{team, model})
	if images > 0 {
		m.images.Add(ctx, images, of.add...)
	}
	if spend > 0 {
		m.spend.Add(ctx, float64(spend)/1e9, of.add...)
	}
}

// Poll counts a poll of a task by where its answer came from: hit, miss, collapsed, stale.
func (m *Metrics) Poll(source string) {
	if m != nil {
		m.polls.Add(context.Background(), 1, m.polledSeries.get(source).add...)
	}
}

// Settlement counts what was charged or given back, by how its amount came about: a request's flag, or the end of a
// task.
func (m *Metrics) Settlement(outcome string) {
	if m != nil {
		m.settled.Add(context.Background(), 1, m.settledSeries.get(outcome).add...)
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
	m.reloads.Add(context.Background(), 1, m.reloadSeries.get(outcome).add...)
}

// Alarm counts something that an operator has to look into. code is one of few.
func (m *Metrics) Alarm(code string) {
	if m != nil {
		m.alarms.Add(context.Background(), 1, m.alarmSeries.get(code).add...)
	}
}

// Warning counts a request that breaks a rule and is let through.
func (m *Metrics) Warning(rule string) {
	if m != nil {
		m.warnings.Add(context.Background(), 1, m.warnedSeries.get(rule).add...)
	}
}

// Redis measures a call of Redis. operation and failure are words of few; "" is no failure.
func (m *Metrics) Redis(operation, failure string, took time.Duration) {
	if m != nil {
		m.redis.Record(context.Background(), took.Seconds(), m.redisSeries.get(redisKey{operation, failure}).record...)
	}
}
