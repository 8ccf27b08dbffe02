package telemetry

import (
	"log/slog"
	"time"

	"sluice/telemetry/meter"
	"sluice/telemetry/otlp"
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
	for _, value := range [...]*string{
		&r.ID, &r.UpstreamID, &r.TraceID, &r.Team, &r.Key, &r.Client, &r.Method, &r.Scheme, &r.Route, &r.Label, &r.Endpoint,
		&r.Kind, &r.Model, &r.Task, &r.TaskStatus, &r.Refusal, &r.Cache, &r.Tags, &r.Front, &r.Cost.Flag, &r.Held.Flag,
	} {
		if len(*value) > otlp.MaxValue || !isPlain(*value) {
			*value = otlp.Valid(otlp.Shorten(*value, otlp.MaxValue))
		}
	}
}

// recordLine turns Records into slog's form, for LOG_FORMAT=text and for collectors; appendLine writes the JSON form. It reuses
// its memory: a result is valid until the next call.
type recordLine struct {
	attrs  []slog.Attr
	groups []slog.Attr
}

// record lists the members of a line. All are always there except tag, front and task_status. A member never changes its type: an unknown
// string is "", an unknown number 0; only usage, cost and held are null if unknown.
func (l *recordLine) record(r *Record) slog.Record {
	l.groups = l.groups[:0]
	l.attrs = append(l.attrs[:0],
		slog.String("id", r.ID),
		slog.String("upstream_id", r.UpstreamID),
		slog.String("trace_id", r.TraceID),
		slog.String("team", r.Team),
		slog.String("key", r.Key),
		slog.String("client", r.Client),
		slog.String("method", r.Method),
		slog.String("route", r.Route),
		slog.String("endpoint", r.Endpoint),
		slog.String("kind", r.Kind),
		slog.String("model", r.Model),
		slog.String("task", r.Task),
		slog.Int("status", r.Status),
		slog.String("refusal", r.Refusal),
		slog.String("cache", r.Cache),
		l.usage(&r.Usage),
		l.cost("cost", &r.Cost),
		l.cost("held", &r.Held),
		milliseconds("dur_ms", r.Duration),
		milliseconds("overhead_ms", r.Overhead),
		milliseconds("first_byte_ms", r.FirstByte),
		slog.Int64("bytes_in", r.BytesIn),
		slog.Int64("bytes_out", r.BytesOut),
		slog.Int("upstream_status", r.UpstreamStatus),
	)
	if r.Tags != "" {
		l.attrs = append(l.attrs, slog.String("tag", r.Tags))
	}
	if r.Front != "" {
		l.attrs = append(l.attrs, slog.String("front", r.Front))
	}
	if r.TaskStatus != "" {
		l.attrs = append(l.attrs, slog.String("task_status", r.TaskStatus))
	}
	record := slog.NewRecord(r.Time.UTC(), r.level(), "request", 0)
	record.AddAttrs(l.attrs...)
	return record
}

func (l *recordLine) usage(u *meter.Usage) slog.Attr {
	if !u.Known() {
		return slog.Any("usage", nil)
	}
	start := len(l.groups)
	for name, n := range u.All() {
		l.groups = append(l.groups, slog.Float64(name, n))
	}
	return slog.Attr{Key: "usage", Value: slog.GroupValue(l.groups[start:]...)}
}

func (l *recordLine) cost(name string, c *Cost) slog.Attr {
	if !c.Known {
		return slog.Any(name, nil)
	}
	start := len(l.groups)
	l.groups = append(l.groups,
		slog.Int64("requests", c.Requests),
		slog.Int64("tokens", c.Tokens),
		slog.Int64("images", c.Images),
		slog.Float64("spend", float64(c.Spend)/1e9),
	)
	if c.Flag != "" {
		l.groups = append(l.groups, slog.String("flag", c.Flag))
	}
	return slog.Attr{Key: name, Value: slog.GroupValue(l.groups[start:]...)}
}

// milliseconds is a duration in milliseconds, to the microsecond.
func milliseconds(name string, d time.Duration) slog.Attr {
	return slog.Float64(name, inMilliseconds(d))
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
