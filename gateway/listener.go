package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// A request listens to its own exchange; see [upstream.Listener].

// Runs extends the lease of the request's hold once half of it has passed.
func (s *requestState) Runs(now time.Time) {
	if s.held == nil {
		return
	}
	last, lease := s.leased.Load(), s.service.lease
	switch {
	case last == 0:
		s.leased.Store(now.UnixNano())
	case now.UnixNano()-last > int64(lease/2) && s.leased.CompareAndSwap(last, now.UnixNano()):
		_ = s.service.deps.Accounts.Extend(context.WithoutCancel(s.client), s.held, lease) // the next one may succeed
	}
}

// Heard reads the usage in a piece of the answer, also if the client has left.
func (s *requestState) Heard(piece []byte) {
	if s.meter != nil {
		_, _ = s.meter.Write(piece) // it never fails
	}
	s.clientSpan.Arrived(piece, s.exchange.Arrived)
}

// Ended moves the usage to the Record and ends the exchange's span.
func (s *requestState) Ended() {
	x := s.exchange
	if x.Fault != nil {
		s.fault = asRefusal(x.Fault).name
		if x.Wanted {
			s.Refusal = s.fault // for the log: the header has left already
		}
	}
	ended := telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault}
	if s.meter != nil {
		s.reading = s.meter.End()
		s.reading.Usage.Cover(s.service.live.cover)
		s.Usage = s.reading.Usage
		ended.Reading = &s.reading
		if s.reading.Failed {
			s.service.alarms.checkBilling(s.reading.ErrorCode)
		}
		meters.Put(s.meter)
		s.meter = nil
	}
	if s.creates && x.Whole && s.fault == "" {
		s.answered = x.Arrived
		return // it is not known yet whether the answer names a task; finish ends the span
	}
	s.clientSpan.End(ended, x.Arrived)
}

var meters = sync.Pool{New: func() any { return new(meter.Meter) }}

// measure starts reading the usage of the answer with this header.
func (s *requestState) measure(h http.Header) {
	s.meter = meters.Get().(*meter.Meter)
	s.meter.Reset(first(h["Content-Type"]), first(h["Content-Encoding"]))
}
