package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/policy/teams"
	"sluice/telemetry"
	"sluice/telemetry/pulse"
	"sluice/telemetry/recent"
)

// sendFor bounds the sending of pending telemetry when the process ends: the collector may be unreachable.
const sendFor = 5 * time.Second

// accountMetrics returns the accounts at the service for the metrics.
func (p *process) accountMetrics() []telemetry.Account {
	standings := p.gateway.Standings()
	all := make([]telemetry.Account, len(standings))
	for i, s := range standings {
		all[i] = telemetry.Account{ID: s.ID, State: string(s.State), InFlight: s.InFlight, Failovers: s.Failovers}
	}
	return all
}

// openTelemetry opens the metrics, and the exporters of spans, metrics and log records that OTEL_* asks for.
func openTelemetry(ctx context.Context, s settings.Settings, log *telemetry.Log) (*telemetry.Telemetry, error) {
	b := readBuild()
	t, err := telemetry.Open(ctx, telemetry.Config{
		Logger: log.Logger(), Version: b.version, Revision: b.revision, GoVersion: b.goVersion,
		Provider: s.ProviderName, Upstream: s.UpstreamURL,
		Join: s.TraceContext == settings.ContextJoin, SendUpstream: s.TraceUpstream, Capture: s.CaptureContent,
	})
	if err != nil {
		return nil, err
	}
	log.Tee(t.Logs)
	if len(t.Sent) > 0 {
		log.Logger().Info("telemetry", "sent", strings.Join(t.Sent, ","))
	}
	return t, nil
}

// closeTelemetry sends pending telemetry, for a bounded time; nil: it was not opened.
func closeTelemetry(t *telemetry.Telemetry, log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendFor)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.Warn("telemetry", "error", "some telemetry was not sent before the process ended: the collector is away or too slow")
	}
}

// logFlush bounds the wait for a blocked log output when the process ends.
const logFlush = 2 * time.Second

// closeLog writes pending lines, for a bounded time.
func closeLog(log *telemetry.Log) {
	ctx, cancel := context.WithTimeout(context.Background(), logFlush)
	defer cancel()
	_ = log.Close(ctx) // the error cannot be logged any more
}

// openLog opens the process's only log: a line for each request, and lines about the process. No request waits for its output.
func openLog(s settings.Settings, w io.Writer) *telemetry.Log {
	return telemetry.NewLog(telemetry.LogConfig{Writer: w, Level: s.LogLevel, Text: s.LogFormat == "text", Now: time.Now})
}

// logState is the log's line in readiness.
func logState(log *telemetry.Log) error {
	n, fault := log.Dropped(), log.Fault()
	switch {
	case n == 0:
		return nil
	case fault != nil:
		return fmt.Errorf("%d lines were lost since the start; a write failed: %w", n, files.Pathless(fault))
	}
	return fmt.Errorf("%d lines were lost since the start; the output is too slow", n)
}

// usualLine is more bytes than most log lines have.
const usualLine = 1 << 10

// recorder returns a function that takes finished requests. It makes a request's line once, for the log and the console.
func recorder(used *teams.LastUse, beats *pulse.Ring, requests *recent.Collector, log *telemetry.Log) func(*telemetry.Record) {
	return func(r *telemetry.Record) {
		used.Note(r.Key, r.Time)
		var room [usualLine]byte
		line := r.AppendLine(room[:0])
		requests.Note(r, line)
		beats.Note(r)
		log.Write(r, line)
	}
}

// bounds are the limits that protect the process from a single client, person or team. Readiness lists those that were reached within
// the last minute, and the log reports each at most once a minute.
type bounds struct {
	now func() time.Time
	log *slog.Logger

	mu   sync.Mutex
	list []*bound
}

// bound is one limit, such as "readings of the console: 20 a second for each person".
type bound struct {
	text    string
	reached int       // times since the start
	last    time.Time // when it was reached
	logging *rate.Limiter
}

// add registers a limit. The text states what is limited, and to what. The caller calls reached each time the limit refuses something.
func (b *bounds) add(text string) (reached func()) {
	one := &bound{text: text, logging: rate.NewLimiter(rate.Every(time.Minute), 1)}
	b.mu.Lock()
	b.list = append(b.list, one)
	b.mu.Unlock()
	return func() { b.note(one) }
}

func (b *bounds) note(one *bound) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one.reached++
	one.last = b.now()
	if one.logging.AllowN(one.last, 1) {
		b.log.Warn("bound reached", "bound", one.text, "times", one.reached)
	}
}

// state is the line in readiness.
func (b *bounds) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, one := range b.list {
		if one.reached > 0 && b.now().Sub(one.last) <= time.Minute {
			list = append(list, fmt.Sprintf("%s (reached %d times since the start, the last within a minute)", one.text, one.reached))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}
