package telemetry

import (
	"context"
	"time"
)

// Arrived counts a request in, until Served counts it out.
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
	if r.Refusal != "" {
		m.refusals.add(refusedKey{r.Refusal, r.Team})
	}
}

// Used counts what was charged: images, and money in 10⁻⁹ of the currency. model is from a closed set.
func (m *Metrics) Used(team, model string, images, spend int64) {
	if m == nil || images == 0 && spend == 0 {
		return
	}
	with := m.used.get(usedKey{team, model})
	if images != 0 {
		m.images.Add(context.Background(), images, with...)
	}
	if spend != 0 {
		m.spend.Add(context.Background(), float64(spend)/1e9, with...)
	}
}

// Poll counts a poll of a task by the source of its answer: hit, miss, collapsed, stale.
func (m *Metrics) Poll(source string) {
	if m != nil {
		m.polls.add(source)
	}
}

// Settlement counts what was charged or given back, by how its amount came about: a request's flag, or the end of a
// task.
func (m *Metrics) Settlement(outcome string) {
	if m != nil {
		m.settlements.add(outcome)
	}
}

// Reload counts a reading of a changed teams file.
func (m *Metrics) Reload(ok bool) {
	switch {
	case m == nil:
	case ok:
		m.reloads.add("ok")
	default:
		m.reloads.add("faulty")
	}
}

// Alarm counts something that an operator has to look into. code is one of few.
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

// Redis measures a call of Redis. operation and failure are from closed sets; "" is no failure.
func (m *Metrics) Redis(operation, failure string, took time.Duration) {
	if m != nil {
		m.redis.get(redisKey{operation, failure}).record(took.Seconds())
	}
}
