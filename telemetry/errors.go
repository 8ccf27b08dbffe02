package telemetry

import "log/slog"

// Errors logs the errors of work that is repeated: the same one again and again is one line.
type Errors struct {
	logger *slog.Logger
	of     string
	last   string // the last error; empty: the last round had none
}

// NewErrors logs errors of that work.
func NewErrors(logger *slog.Logger, of string) *Errors { return &Errors{logger: logger, of: of} }

// Log logs an error unless it is the last one; nil: the work succeeded.
func (e *Errors) Log(err error) {
	if err == nil {
		e.last = ""
		return
	}
	if text := err.Error(); text != e.last {
		e.logger.Error(e.of, slog.String("error", text))
		e.last = text
	}
}
