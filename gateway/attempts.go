package gateway

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/refusal"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy/account"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// attempts is the proxy's way to the service: to the account that was chosen for a request, and if that has certainly done no work, to
// others, each once.
type attempts struct {
	service *service
	// move moves the request's hold to the account of an attempt. wait is until it has room there; 0: the hold was moved.
	move func(s *requestState, to *accounts.Attempt) (wait time.Duration)
}

// RoundTrip implements [http.RoundTripper]. The answer is that of the last account.
func (t *attempts) RoundTrip(out *http.Request) (*http.Response, error) {
	s := stateOf(out.Context())
	if !s.accounts.Chooses() {
		return t.service.try(out, s)
	}
	trials := accounts.Trials{Roll: s.accounts}
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

// last is the last account's answer. A client to which no account did any work is told to wait as long as any of them asks for.
func (s *requestState) last(answer *http.Response, err error, wait time.Duration) (*http.Response, error) {
	switch {
	case err != nil && wait > 0:
		return nil, refusal.As(err).Retry(wait)
	case err != nil:
		return nil, err
	case wait > s.retryAfter:
		s.retryAfter = wait
		answer.Header["Retry-After"] = s.values.one(strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	return answer, nil
}

// another chooses a further account if the attempt has certainly done no work, and moves the request's hold to it. No account is chosen
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

// again makes the request ready for another attempt. failed is why the one before has no answer.
func (s *requestState) again(failed error) {
	if failed != nil {
		s.fault = refusal.As(failed).Name
	}
	x := s.exchange
	s.clientSpan.End(telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault, Reading: &s.reading}, x.Arrived)
	s.waited += x.Waited
	x.Reset()
	s.UpstreamStatus, s.UpstreamID, s.retryAfter, s.verdict = 0, "", 0, account.Verdict{}
	s.fault, s.Refusal, s.reading, s.Usage, s.answered = "", "", meter.Reading{}, meter.Usage{}, time.Time{}
}

// readRefusal reads an answer that may be a refusal far enough to know whether it is one: an error whole, a stream until its first
// event, with what precedes it. The body can then be read from its beginning.
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

// mayRefuse reports whether the stream so far may still be a refusal alone; open: its last event has not ended.
func (s *requestState) mayRefuse(open bool) bool {
	if s.meter == nil {
		return false
	}
	read := s.meter.End()
	return accounts.MayRefuse(&read, open)
}
