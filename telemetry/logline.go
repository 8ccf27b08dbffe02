package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// level is WARN for failures that Sluice caused, which the operator should look into. The service's own 5xx and refusals of a
// team's requests are INFO.
func (r *Record) level() slog.Level {
	if r.Status >= 500 && (r.Refusal != "" || r.UpstreamStatus != r.Status) {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// clean shortens every text and makes it valid UTF-8. Clients and the service choose some of them, and a collector refuses a whole
// batch for one invalid text.
func (r *Record) clean() {
	for i := range members {
		if m := &members[i]; m.text != nil {
			cleanText(m.text(r), m.most())
		}
	}
	l := &r.Limit
	for _, text := range [...]*string{&r.Scheme, &r.Label, &r.Cost.Flag, &r.Held.Flag, &l.Name, &l.Scope, &l.Of, &l.Unit, &l.Per} {
		cleanText(text, maxValue)
	}
}

// most is how many bytes the text of a member may have.
func (m *member) most() int {
	if m.long {
		return maxReason
	}
	return maxValue
}

func cleanText(text *string, most int) {
	if len(*text) > most || !isPlain(*text) {
		*text = valid(shortenTo(*text, most))
	}
}

// line is a Record in slog's form, for LOG_FORMAT=text and for collectors; appendLine writes the JSON form.
func (r *Record) line() slog.Record {
	record := slog.NewRecord(r.Time.UTC(), r.level(), "request", 0)
	for i := range members {
		if m := &members[i]; m.shown(r) {
			record.AddAttrs(m.attr(r))
		}
	}
	return record
}

func (m *member) attr(r *Record) slog.Attr {
	switch {
	case m.text != nil:
		return slog.String(m.name, *m.text(r))
	case m.number != nil:
		return slog.Int64(m.name, m.number(r))
	case m.duration != nil:
		return slog.Float64(m.name, inMilliseconds(m.duration(r)))
	case m.cost != nil:
		return m.cost(r).attr(m.name)
	case m.list != nil:
		return slog.Any(m.name, m.list(r))
	case m.limit != nil:
		return m.limit(r).attr(m.name)
	}
	return usageAttr(&r.Usage)
}

func usageAttr(u *meter.Usage) slog.Attr {
	if !u.Known() {
		return slog.Any("usage", nil)
	}
	var amounts []slog.Attr
	for name, n := range u.All() {
		amounts = append(amounts, slog.Float64(name, n))
	}
	return slog.GroupAttrs("usage", amounts...)
}

func (c *Cost) attr(name string) slog.Attr {
	if !c.Known {
		return slog.Any(name, nil)
	}
	var amounts []slog.Attr
	for i, of := range unit.Names {
		amounts = append(amounts, amountAttr(string(of), c.Money, of, c.Amounts[i]))
	}
	if c.Flag != "" {
		amounts = append(amounts, slog.String("flag", c.Flag))
	}
	return slog.GroupAttrs(name, amounts...)
}

// amountAttr is an amount of a unit, money in the currency.
func amountAttr(name string, m unit.Money, of unit.Name, n int64) slog.Attr {
	if m.Behind(of) > 0 {
		return slog.Float64(name, m.InWhole(of, n))
	}
	return slog.Int64(name, n)
}

// Log writes the line of a task that was settled at that moment. Like the line of a request it always has all members.
func (t *Task) Log(logger *slog.Logger, at time.Time) {
	creation, handler := readTraceparent(t.Creation), logger.Handler()
	ctx := trace.ContextWithSpanContext(context.Background(), creation)
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	record := slog.NewRecord(at.UTC(), slog.LevelInfo, "task", 0)
	traceID := ""
	if creation.IsValid() {
		traceID = creation.TraceID().String()
	}
	attrs := []slog.Attr{
		slog.String("id", t.Request),
		slog.String("trace_id", traceID),
		slog.String("team", t.Team),
		slog.String("key", t.Key),
		slog.String("model", shorten(t.Model)),
		slog.String("task", shorten(t.ID)),
		slog.String("outcome", t.Outcome),
		usageAttr(&t.Usage),
		t.Cost.attr("cost"),
		t.Held.attr("held"),
		slog.String("submit_time", t.Submitted.UTC().Format(time.RFC3339Nano)),
		slog.String("end_time", t.Ended.UTC().Format(time.RFC3339Nano)),
		slog.Float64("queue_ms", inMilliseconds(t.waited())),
		slog.Float64("run_ms", inMilliseconds(t.ran())),
		slog.Int64("polls_served", t.Served),
		slog.Int64("polls_sent", t.Sent),
		slog.String("settled_by", t.SettledBy),
	}
	if t.Account != "" {
		attrs = append(attrs, slog.String("account", t.Account))
	}
	record.AddAttrs(attrs...)
	_ = handler.Handle(ctx, record) // as for any line
}
