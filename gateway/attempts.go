package gateway

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/upstream"
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
	if !t.service.live.roster.Several() {
		return t.service.try(out, s)
	}
	trials := accounts.Trials{Roster: t.service.live.roster}
	for {
		answer, err := t.service.try(out, s)
		if err == nil {
			err = s.readRefusal(answer)
		}
		if !t.another(&trials, s) {
			s.tellWait(answer, trials.Longest)
			return whole(answer, err)
		}
		s.again(err)
		t.service.outbound(out, s)
	}
}

// whole drops an answer that could not be read.
func whole(answer *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
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

// tellWait has a client that was throttled wait as long as any of the accounts asks for.
func (s *requestState) tellWait(answer *http.Response, longest time.Duration) {
	if answer != nil && answer.StatusCode == http.StatusTooManyRequests && longest > s.retryAfter {
		answer.Header["Retry-After"] = s.values.one(strconv.Itoa(int(math.Ceil(longest.Seconds()))))
	}
}

// again makes the request ready for another attempt. failed is why the one before has no answer.
func (s *requestState) again(failed error) {
	if failed != nil {
		s.fault = asRefusal(failed).name
	}
	x := s.exchange
	s.clientSpan.End(telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault, Reading: &s.reading}, x.Arrived)
	s.waited += x.Waited
	x.Reset()
	s.UpstreamStatus, s.UpstreamID, s.retryAfter, s.verdict = 0, "", 0, account.Verdict{}
	s.fault, s.Refusal, s.reading, s.Usage, s.answered = "", "", meter.Reading{}, meter.Usage{}, time.Time{}
}

// readRefusal reads an answer that may be a refusal far enough to know whether it is one: an error whole, a stream until its first
// event. The body can then be read from its beginning.
func (s *requestState) readRefusal(answer *http.Response) error {
	switch {
	case answer.StatusCode >= http.StatusBadRequest:
		_, err := readWhole(answer)
		return err
	case isStream(answer.Header):
		upstream.Glance(answer, s.refused)
	}
	return nil
}

// refused reports whether the answer so far is an error for which another account may be tried, and nothing else.
func (s *requestState) refused() bool {
	if s.meter == nil {
		return false
	}
	read := s.meter.End()
	return refusesOnly(&read) && account.Judge(account.Answer{Sent: true, Complete: true, Status: read.ErrorStatus, Code: read.ErrorCode}).Another
}

// refusesOnly reports whether a stream is one error frame so far. A frame before it, even an empty one, shows that the work had begun.
func refusesOnly(read *meter.Reading) bool {
	return read.Failed && !read.Content && read.Frames == 1 && read.TaskID == ""
}
