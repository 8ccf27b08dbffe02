package gateway

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/refusal"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/forms"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// try makes one attempt, and starts to read the answer's usage.
func (u *service) try(out *http.Request, s *requestState) (*http.Response, error) {
	answer, err := s.way.RoundTrip(out)
	if err != nil {
		s.judge()
		return nil, err
	}
	s.UpstreamStatus, s.retryAfter = answer.StatusCode, upstream.RetryAfter(answer.Header, u.deps.Now())
	unread := s.route.opaque() && !s.creates && answer.StatusCode < http.StatusBadRequest && !wire.IsStream(answer.Header)
	if !unread && s.route.endpoint != policy.EndpointTasks { // a task's usage counts when the task is settled, not at each poll
		s.meter = meters.Get().(*meter.Meter)
		s.meter.Reset(wire.First(answer.Header["Content-Type"]), wire.First(answer.Header["Content-Encoding"]))
		if s.route.reads.Governed() && s.route.reads != forms.Native {
			s.meter.Speaks(meter.Dialect(s.route.reads))
		}
	}
	return answer, nil
}

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
		_ = s.service.deps.Balances.Extend(context.WithoutCancel(s.client), s.held, lease) // the next one may succeed
	}
}

// Received reads the usage in a piece of the answer, even if the client has left.
func (s *requestState) Received(piece []byte) {
	if s.meter != nil {
		_, _ = s.meter.Write(piece) // it never fails
		if s.attempt.Probes() {
			if read := s.meter.End(); read.Frames > 0 && !read.Failed {
				s.attempt.Works()
			}
		}
	}
	s.clientSpan.Arrived(piece, s.exchange.Arrived)
}

// Ended moves the usage to the Record and ends the exchange's span.
func (s *requestState) Ended() {
	x := s.exchange
	if x.Fault != nil {
		s.fault = refusal.As(x.Fault).Name
		if x.Wanted {
			s.Refusal = cmp.Or(s.Refusal, s.fault) // for the log: the header has left already
		}
	}
	ended := telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault}
	if s.meter != nil {
		s.reading = s.meter.End()
		s.Read(&s.reading, s.service.live.pool.Cover)
		ended.Reading = &s.reading
		meters.Put(s.meter)
		s.meter = nil
	}
	s.judge()
	if s.creates && x.Whole && s.fault == "" {
		s.answered = x.Arrived
		return // it is not known yet whether the answer names a task; finish ends the span
	}
	s.clientSpan.End(ended, x.Arrived)
}

// judge reports the attempt's outcome to its account, and alerts operators to faults that only they can repair.
func (s *requestState) judge() {
	u := s.service
	s.verdict = s.attempt.End(accounts.AnswerOf(s.exchange, &s.reading, s.UpstreamStatus, s.retryAfter))
	if cmp.Or(s.UpstreamError, s.UpstreamStatus) == http.StatusUnauthorized {
		s.Refusal = cmp.Or(s.Refusal, refusal.OurKey.Name) // a stream's header has left already
		u.alarms.Raise(telemetry.AlarmKeyRefused, s.attempt.ID, refusal.ErrOurKey.Error())
	}
	if s.reading.Failed && account.Unpaid(s.reading.ErrorCode) {
		u.alarms.Raise(s.reading.ErrorCode, s.attempt.ID, "the service says that its account does not pay")
	}
}

// use assigns an attempt, and so its account, to the request.
func (s *requestState) use(attempt accounts.Attempt) { s.attempt, s.Account = attempt, attempt.Shown() }

// want is the work for which an account is chosen.
func (s *requestState) want() account.Want {
	unpriced := s.pricing.Price.Missing(&s.size) != "" && !nameless(s)
	return account.Want{Model: s.Model, Unpriced: unpriced, Team: s.Team, Regions: s.team.Regions}
}

// attempts sends the proxy's requests to the service: each to its chosen account and, if that certainly did no work, to others, each
// of them once.
type attempts struct {
	service *service
	// move moves the request's hold to the account of an attempt. wait is how long until that may have room; 0: the hold was moved.
	move func(s *requestState, to *accounts.Attempt) (wait time.Duration)
}

// RoundTrip implements [http.RoundTripper]. It returns the answer of the last account.
func (t *attempts) RoundTrip(out *http.Request) (*http.Response, error) {
	s := stateOf(out.Context())
	if !s.accounts.Chooses() {
		return t.service.try(out, s)
	}
	trials := accounts.Trials{Snapshot: s.accounts}
	for {
		answer, err := t.service.try(out, s)
		if err == nil {
			err = s.readRefusal(answer)
		}
		if !t.another(&trials, s) {
			return s.last(answer, err, trials.Wait(s.verdict))
		}
		s.again(err)
		t.service.outbound(out, s)
	}
}

// last returns the last account's answer. If no account did any work, wait is the longest wait of them all; 0: the answer's own.
func (s *requestState) last(answer *http.Response, err error, wait time.Duration) (*http.Response, error) {
	switch {
	case err != nil && wait > 0:
		return nil, refusal.As(err).Retry(wait)
	case err != nil:
		return nil, err
	case wait > s.retryAfter:
		s.retryAfter = wait
		answer.Header["Retry-After"] = s.values.One(strconv.Itoa(wire.RetryAfter(wait, rand.Float64())))
	}
	return answer, nil
}

// another chooses another account if the attempt certainly did no work, and moves the request's hold to it. No account is chosen
// for a client that has left.
func (t *attempts) another(trials *accounts.Trials, s *requestState) bool {
	trials.Judged(&s.attempt, s.verdict)
	if !s.verdict.Another || s.held == nil || s.client.Err() != nil {
		return false
	}
	next, ok := trials.Next(s.want(), func(to *accounts.Attempt) time.Duration { return t.move(s, to) })
	if ok {
		s.attempt.FailedOver(s.verdict.Outcome)
		s.use(next)
	}
	return ok
}

// again makes the request ready for another attempt. failed is why the previous one has no answer; nil: it has one.
func (s *requestState) again(failed error) {
	if failed != nil {
		s.fault = refusal.As(failed).Name
	}
	x := s.exchange
	s.clientSpan.End(telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault, Reading: &s.reading}, x.Arrived)
	s.waited += x.Waited
	x.Reset()
	s.UpstreamStatus, s.UpstreamID, s.retryAfter, s.verdict = 0, "", 0, account.Verdict{}
	s.fault, s.Refusal, s.reading, s.answered = "", "", meter.Reading{}, time.Time{}
	s.Read(&s.reading, s.service.live.pool.Cover)
}

// readRefusal reads an answer that may be a refusal far enough to know: an error whole, a stream up to its first event. The body can
// then be read from its beginning.
func (s *requestState) readRefusal(answer *http.Response) error {
	switch {
	case answer.StatusCode >= http.StatusBadRequest:
		_, err := readWhole(answer)
		return err
	case wire.IsStream(answer.Header) && s.accounts.Several():
		upstream.Glance(answer, s.mayRefuse)
	}
	return nil
}

// mayRefuse reports whether the stream so far may be nothing but a refusal; open: its last event has not ended.
func (s *requestState) mayRefuse(open bool) bool {
	if s.meter == nil {
		return false
	}
	read := s.meter.End()
	return accounts.MayRefuse(&read, open)
}
