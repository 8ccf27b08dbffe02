package redisclient

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// quietLog logs the client library's own messages, at most one line a second: there is one for each connection that fails.
// Their arguments are left out, because a server's error may quote what was sent.
type quietLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
	more int
}

func newQuietLog(log *slog.Logger) *quietLog { return &quietLog{log: log} }

// Printf implements the library's interface.
func (q *quietLog) Printf(_ context.Context, format string, _ ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.last) < time.Second {
		q.more++
		return
	}
	q.last = time.Now()
	q.log.Debug("redis", slog.String("library", strings.TrimSpace(format)), slog.Int("left_out", q.more))
	q.more = 0
}
