package gateway

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/accounts"
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
	var past trials
	for {
		answer, err := t.service.try(out, s)
		if err == nil {
			err = s.readRefusal(answer)
		}
		if !t.another(&past, s, err) {
			past.tellWait(answer, s)
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

// trials are the attempts of a request so far.
type trials struct {
	tried []string                 // the accounts, by id
	spent map[string]time.Duration // those that have no room
	wait  time.Duration            // the longest that one asks for
}

// another chooses a further account if the attempt has certainly done no work, and moves the request's hold to it. No account is chosen
// for a client that has left.
func (t *attempts) another(past *trials, s *requestState, failed error) bool {
	past.tried = append(past.tried, s.attempt.ID)
	if s.verdict.Outcome == account.Throttled {
		past.wait = max(past.wait, s.verdict.Wait)
	}
	if !s.verdict.Another || s.held == nil || s.client.Err() != nil {
		return false
	}
	for {
		want := s.want()
		want.Tried, want.Spent = past.tried, past.spent
		next, choice := t.service.live.roster.Choose(want)
		if choice.Account == nil {
			return false
		}
		wait := t.move(s, &next)
		if wait == 0 {
			s.attempt.FailedOver(s.verdict.Outcome)
			s.attempt = next
			return true
		}
		next.Drop()
		if past.spent == nil {
			past.spent = map[string]time.Duration{}
		}
		past.spent[next.ID] = wait
	}
}

// tellWait has a client that was throttled wait as long as any of the accounts asks for.
func (past *trials) tellWait(answer *http.Response, s *requestState) {
	if answer != nil && s.verdict.Outcome == account.Throttled && past.wait > s.retryAfter {
		answer.Header["Retry-After"] = s.values.one(strconv.Itoa(int(math.Ceil(past.wait.Seconds()))))
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
		s.glance(answer)
	}
	return nil
}

// longestGlance bounds how much is read of a stream to see whether it begins with an error.
const longestGlance = 4 << 10

// glance reads a stream until its first event has ended, and if that is an error, until the end.
func (s *requestState) glance(answer *http.Response) {
	seen := &begun{ReadCloser: answer.Body, head: make([]byte, 0, longestGlance)}
	for more := true; more; {
		n, err := answer.Body.Read(seen.head[len(seen.head):cap(seen.head)])
		seen.head, seen.err = seen.head[:len(seen.head)+n], err
		more = err == nil && len(seen.head) < cap(seen.head) && (!bytes.Contains(seen.head, []byte("\n\n")) || s.refused())
	}
	if seen.err == io.EOF && s.refused() {
		_ = answer.Body.Close() // the exchange ends, and is judged
	}
	answer.Body = seen
}

// refused reports whether the answer so far is an error and nothing else.
func (s *requestState) refused() bool {
	read := s.meter.End()
	return read.Failed && !read.Content
}

// begun is a body of which the beginning was read already.
type begun struct {
	io.ReadCloser
	head []byte
	err  error // the end of the body, if that was read, too
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		if b.head = b.head[n:]; len(b.head) == 0 {
			b.head = nil
		}
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}
