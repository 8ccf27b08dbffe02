package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// drainTime is how long an answer is read on whose client has left.
const drainTime = 30 * time.Second

// Runs gives the hold of a request that runs long a new lease.
func (c *call) Runs(now time.Time) {
	if c.held == nil {
		return
	}
	last, lease := c.leased.Load(), c.gateway.lease
	switch {
	case last == 0:
		c.leased.Store(now.UnixNano())
	case now.UnixNano()-last > int64(lease/2) && c.leased.CompareAndSwap(last, now.UnixNano()):
		_ = c.gateway.deps.Accounts.Extend(context.WithoutCancel(c.client), c.held, lease) // the next one may work
	}
}

// Heard reads the usage along. What is drained counts too.
func (c *call) Heard(piece []byte) {
	if c.meter != nil {
		_, _ = c.meter.Write(piece) // it never fails
	}
	c.clientSpan.Arrived(piece, c.exchange.Arrived)
}

// Ended hands the usage to the Record, and ends the exchange.
func (c *call) Ended() {
	x := &c.exchange
	if x.Fault != nil {
		c.fault = asRefusal(x.Fault).name
		if x.Wanted {
			c.Refusal = c.fault // for the log, where the header has left already
		}
	}
	ended := telemetry.Result{Status: c.UpstreamStatus, Fault: c.fault}
	if c.meter != nil {
		reading := c.meter.End()
		reading.Usage.Cover(c.gateway.upstreamKey.Load().Cover)
		c.Usage, c.reading = reading.Usage, reading
		ended.Reading = &c.reading
		if reading.Failed {
			c.gateway.alarmOf(reading.ErrorCode)
		}
		meters.Put(c.meter)
		c.meter = nil
	}
	if c.creates && x.Whole && c.fault == "" {
		c.heard = x.Arrived
		return // whether the answer names a task is seen next: observe ends the exchange
	}
	c.clientSpan.End(ended, x.Arrived) // what was read last was its end
}

var meters = sync.Pool{New: func() any { return new(meter.Meter) }}

// measure reads the usage of an answer with this header along from here on.
func (c *call) measure(h http.Header) {
	c.meter = meters.Get().(*meter.Meter)
	c.meter.Reset(first(h["Content-Type"]), first(h["Content-Encoding"]))
}
