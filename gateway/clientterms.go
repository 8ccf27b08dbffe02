package gateway

import (
	"sync/atomic"
	"time"
)

// clientTerms bounds what clients may take: bytes, and time to send and to read.
type clientTerms struct {
	now          func() time.Time
	maxBody      int64         // bytes of a request's body
	writeTimeout time.Duration // of one write to a client
	slowStart    time.Duration // before a slow body is refused; tests shorten it
	lingerTime   time.Duration // for which the rest of a body is dropped; tests shorten it
	draining     *atomic.Bool
}

func newClientTerms(config *Config, now func() time.Time, live *live) *clientTerms {
	return &clientTerms{
		now: now, maxBody: config.MaxBody, writeTimeout: config.WriteTimeout, slowStart: slowStart, lingerTime: lingerTime, draining: &live.draining,
	}
}
