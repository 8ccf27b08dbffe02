package simulator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestFaultNeedsAKey(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{Error: &FaultError{Status: 503}})
	r.post(textPath, say("hi", ""), "Authorization", "Bearer x").want(t, 401, "InvalidApiKey")
}

func TestFaultOnAndTimes(t *testing.T) {
	refuse := &FaultError{Status: 503}
	for _, tt := range []struct {
		name   string
		faults []Fault
		want   string // by request: the text path; x is a refusal
	}{
		{"always", []Fault{{Error: refuse}}, "xxxx"},
		{"elsewhere", []Fault{{On: EndpointTask, Error: refuse}}, "...."},
		{"here", []Fault{{On: EndpointText, Error: refuse}}, "xxxx"},
		{"twice", []Fault{{Times: 2, Error: refuse}}, "xx.."},
		{"once", []Fault{{Times: 1, Error: refuse}}, "x..."},
		{"the first that applies", []Fault{{Times: 1}, {Times: 2, Error: refuse}}, ".xx."},
	} {
		r := newRig(t, Config{})
		r.SetFault(tt.faults...)
		var got strings.Builder
		for range tt.want {
			if r.post(textPath, say("hi", "")).status == 200 {
				got.WriteByte('.')
			} else {
				got.WriteByte('x')
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, &got, tt.want)
		}
	}
}

func TestResetForgetsFaults(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{Error: &FaultError{}})
	r.Reset()
	if g := r.post(textPath, say("hi", "")); g.status != 200 {
		t.Errorf("after Reset: %d", g.status)
	}
}

func TestErrorFault(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{Error: &FaultError{Status: 429, Code: "Throttling.AllocationQuota", Message: "too much"}, RetryAfter: "7"})
	g := r.post(textPath, say("hi", ""))
	g.want(t, 429, "Throttling.AllocationQuota")
	if g.header.Get("Retry-After") != "7" || at(g.object(t), "message") != "too much" {
		t.Errorf("got %v %s", g.header, g.body)
	}
	if got := r.Tally(); got.Tokens != 0 || got.Executed[EndpointText] != 0 {
		t.Errorf("a refusal costs %+v", got)
	}
}

func TestErrorFaultInAStream(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		name  string
		after int // results before the error
	}{
		{"before content", 0},
		{"in the middle", 3},
	} {
		events := r.with(Fault{Error: &FaultError{Status: 429}, After: tt.after}).post(textPath, say("hi", ""), sse...).events(t)
		last := events[len(events)-1]
		if len(events) != tt.after+1 || last.name != "error" || last.status != "429" || !strings.HasPrefix(last.data, `{"code":"Throttling.RateQuota","message":`) {
			t.Errorf("%s: %d frames, the last %+v", tt.name, len(events), last)
		}
	}
	r.with(Fault{Error: &FaultError{Status: 429, Plain: true}}).post(textPath, say("hi", ""), sse...).want(t, 429, "Throttling.RateQuota")
	// A whole answer has no middle.
	r.with(Fault{Error: &FaultError{Status: 429}, After: 3}).post(textPath, say("hi", "")).want(t, 429, "Throttling.RateQuota")
}

func TestErrorAtTheEndOfAStream(t *testing.T) {
	r := newRig(t, Config{})
	whole := len(r.post(textPath, say("hi", ""), sse...).events(t))
	events := r.with(Fault{Error: &FaultError{}, After: 9999}).post(textPath, say("hi", ""), sse...).events(t)
	if len(events) != whole+1 || events[whole].name != "error" {
		t.Errorf("%d frames, want %d and an error", len(events), whole)
	}
}

func TestMidStreamErrorIsBilledAsFarAsItCame(t *testing.T) {
	r := newRig(t, Config{})
	events := r.with(Fault{Error: &FaultError{}, After: 3}).post(textPath, say("hi", ""), sse...).events(t)
	told := at(events[2].object(t), "usage", "total_tokens").(float64)
	if got := r.Tally().Tokens; got != int64(told) {
		t.Errorf("billed %d tokens, told %v", got, told)
	}
}

func TestFaultErrorDefaults(t *testing.T) {
	for _, tt := range []struct {
		in     FaultError
		status int
		code   string
	}{
		{FaultError{}, 500, "InternalError"},
		{FaultError{Status: 400}, 400, "InvalidParameter"},
		{FaultError{Status: 401}, 401, "InvalidApiKey"},
		{FaultError{Status: 403}, 403, "AccessDenied"},
		{FaultError{Status: 404}, 404, "ModelNotFound"},
		{FaultError{Status: 429}, 429, "Throttling.RateQuota"},
		{FaultError{Status: 503}, 503, "ModelUnavailable"},
		{FaultError{Status: 504}, 504, "InternalError"},
		{FaultError{Status: 429, Code: "Throttling.AllocationQuota"}, 429, "Throttling.AllocationQuota"},
		{FaultError{Code: "SystemError"}, 500, "SystemError"},
	} {
		if r := tt.in.refusal(); r.status != tt.status || r.code != tt.code || r.message == "" {
			t.Errorf("%+v answers %v, want %d %s", tt.in, r, tt.status, tt.code)
		}
	}
}

func TestStallsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalls()
		s.release() // without requests it does nothing
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- s.wait(t.Context()) }()
		}
		if err := s.await(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.release()
		for range 3 {
			if err := <-done; err != nil {
				t.Errorf("a released request got %v", err)
			}
		}
		if s.waiting != 0 {
			t.Errorf("%d are left waiting", s.waiting)
		}
	})
}

func TestStallsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalls()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || s.waiting != 0 {
			t.Errorf("left with %v, %d waiting", err, s.waiting)
		}
	})
}

func TestStallsAwaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalls()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.await(ctx, 1) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("awaiting ended with %v", err)
		}
	})
}

// A request that stalls after a release waits for the next one.
func TestStallsTwoRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalls()
		done := make(chan error, 1)
		for range 2 {
			go func() { done <- s.wait(t.Context()) }()
			if err := s.await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
				t.Fatal("went on unreleased")
			default:
			}
			s.release()
			<-done
		}
	})
}
