package gateway

import (
	"context"
	"net/http"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/refusal"
	"sluice/gateway/upstream"
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
	if s.route.endpoint != policy.EndpointTasks { // a task's usage counts when the task is settled, not at each poll
		s.meter = meters.Get().(*meter.Meter)
		s.meter.Reset(first(answer.Header["Content-Type"]), first(answer.Header["Content-Encoding"]))
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
		_ = s.service.deps.Accounts.Extend(context.WithoutCancel(s.client), s.held, lease) // the next one may succeed
	}
}

// Heard reads the usage in a piece of the answer, also if the client has left.
func (s *requestState) Heard(piece []byte) {
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
			s.Refusal = s.fault // for the log: the header has left already
		}
	}
	ended := telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault}
	if s.meter != nil {
		s.reading = s.meter.End()
		s.reading.Usage.Cover(s.service.live.roster.Cover)
		s.Usage = s.reading.Usage
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

// judge tells the account what became of the attempt, and alarms of what only an operator can change.
func (s *requestState) judge() {
	u := s.service
	s.verdict = s.attempt.End(accounts.AnswerOf(s.exchange, &s.reading, s.UpstreamStatus, s.retryAfter))
	if s.UpstreamStatus == http.StatusUnauthorized {
		u.alarms.Raise(telemetry.AlarmKeyRefused, s.attempt.ID, errOurKey.Error())
	}
	if s.reading.Failed && account.Unpaid(s.reading.ErrorCode) {
		u.alarms.Raise(s.reading.ErrorCode, s.attempt.ID, "the service says that its account does not pay")
	}
}

// use has the request use an account.
func (s *requestState) use(attempt accounts.Attempt) { s.attempt, s.Account = attempt, attempt.Shown() }

// want is the work for which an account is chosen.
func (s *requestState) want() account.Want {
	unpriced := s.terms.Price == nil && !nameless(s)
	return account.Want{Model: s.Model, Unpriced: unpriced, Team: s.Team, Regions: s.team.Regions}
}
