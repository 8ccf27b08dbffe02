package gateway

import (
	"sync/atomic"
	"time"

	"sluice/gateway/wire"
)

const (
	// A client must send slowRate bytes a second, measured over the whole body, after the first slowStart, or its request
	// ends with 408: a body that trickles in holds memory and a connection.
	slowStart = wire.SlowStart
	slowRate  = 64 << 10

	// After an answer, the rest of the request's body is read and dropped up to these bounds, so that a client that is still
	// sending can read its answer, and a connection whose body came whole can be used again.
	lingerBytes = 64 << 20
	lingerTime  = 2 * time.Second
)

// clientTerms bounds what clients may take: bytes, and time to send and to read.
type clientTerms struct {
	now          func() time.Time
	maxBody      int64         // bytes of a request's body
	writeTimeout time.Duration // of one write to a client
	slowStart    time.Duration // before a slow body is refused; tests shorten it
	lingerTime   time.Duration // for which the rest of a body is dropped; tests shorten it
	draining     *atomic.Bool
	cors         *cors // who may read answers in a browser
}

func newClientTerms(config *Config, now func() time.Time, live *live) *clientTerms {
	return &clientTerms{
		now: now, maxBody: config.MaxBody, writeTimeout: config.WriteTimeout, slowStart: slowStart, lingerTime: lingerTime, draining: &live.draining,
		cors: newCORS(config.CORSOrigins),
	}
}
