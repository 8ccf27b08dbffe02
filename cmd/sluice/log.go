package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"sluice/telemetry"
)

// logFlush bounds the wait for a blocked log output when the process ends.
const logFlush = 2 * time.Second

// closeLog writes pending lines, for a bounded time.
func closeLog(log *telemetry.Log) {
	ctx, cancel := context.WithTimeout(context.Background(), logFlush)
	defer cancel()
	_ = log.Close(ctx) // there is no log to write the error to
}

// openLog opens the process's one log: a line for each request, and lines about the process between them. No request waits
// for its output.
func openLog(s settings, w io.Writer) *telemetry.Log {
	return telemetry.NewLog(telemetry.LogConfig{Writer: w, Level: s.LogLevel, Text: s.LogFormat == "text", Now: time.Now})
}

// announce logs the version and every warning.
func announce(log *slog.Logger, c configuration) {
	b := readBuild()
	log.Info("starting", "version", b.version, "go", b.goVersion, "revision", b.revision, "teams", len(c.teams.List))
	for _, warning := range c.warnings {
		log.Warn("configuration", "warning", warning)
	}
}

func (p *process) logState() error {
	if n := p.log.Dropped(); n > 0 {
		return fmt.Errorf("%d lines were lost since the start, because the output is too slow", n)
	}
	return nil
}
