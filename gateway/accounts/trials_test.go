package accounts_test

import (
	"testing"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/telemetry/meter"
)

// readingOf is what a meter has read of an answer's beginning.
func readingOf(contentType, text string) *meter.Reading {
	m := meter.New(contentType, "")
	_, _ = m.Write([]byte(text))
	read := m.End()
	return &read
}

const sse, frame = "text/event-stream", "event:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"slowly\"}\n\n"

// A refusal is complete if the answer was framed, or if its text has ended.
func TestARefusalIsCompleteByItsFramingOrItsText(t *testing.T) {
	const text = `{"code":"Throttling","message":"slowly"}`
	for _, tt := range []struct {
		name                  string
		contentType, text     string
		status                int
		reached, whole, clean bool
		want                  account.Answer // without Sent and RetryAfter
	}{
		{name: "nothing was sent", want: account.Answer{}},
		{"sent, and silence", "", "", 0, true, false, false, account.Answer{}},
		{"framed", "", text, 429, true, true, true, account.Answer{Complete: true, Status: 429, Code: "Throttling"}},
		{"framed, without a text", "", "", 401, true, true, true, account.Answer{Complete: true, Status: 401}},
		{"framed, and another text", "text/html", "<p>no", 401, true, true, true, account.Answer{Complete: true, Status: 401}},
		{"broken off", "", text, 429, true, false, false, account.Answer{Status: 429, Code: "Throttling"}},
		{"to the connection's end", "", text, 429, true, true, false, account.Answer{Complete: true, Status: 429, Code: "Throttling"}},
		{"to the connection's end, cut", "", text[:22], 429, true, true, false, account.Answer{Status: 429, Code: "Throttling"}},
		{"to the connection's end, without a text", "", "", 401, true, true, false, account.Answer{Status: 401}},
		{"a stream's refusal", sse, frame, 200, true, true, true, account.Answer{Complete: true, Status: 429, Code: "Throttling"}},
		{"behind a comment", sse, ":x\n\n" + frame, 200, true, true, false, account.Answer{Complete: true, Status: 429, Code: "Throttling"}},
		{"cut in its event", sse, frame[:40], 200, true, true, false, account.Answer{Status: 429}},
		{"behind an event", sse, "data:{}\n\n" + frame, 200, true, true, true, account.Answer{Complete: true, Status: 200, Code: "Throttling"}},
	} {
		x := &upstream.Exchange{Reached: tt.reached, Whole: tt.whole, Clean: tt.clean}
		tt.want.Sent, tt.want.RetryAfter = tt.reached, time.Second
		if got := accounts.AnswerOf(x, readingOf(tt.contentType, tt.text), tt.status, time.Second); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A stream may be a refusal until an event shows that it is none; an event that is open may still name its status.
func TestABeginningMayRefuse(t *testing.T) {
	const good = "data:{\"output\":{\"text\":\"a\"}}\n\n"
	for _, tt := range []struct {
		text      string
		open, may bool
	}{
		{"", true, true}, {":x\n\n", false, true}, {"retry:1\n\n", false, true}, {"id:1\n\n\n\n", false, true}, {"data:{\"outp", true, true},
		{frame, false, true}, {frame[:12], true, true}, {":x\n\n" + frame[:12], true, true}, {":x\n\n" + frame, false, true},
		{"event:error\ndata:{\"code\":\"Throttling\"}\n", true, true}, {"event:error\ndata:{\"code\":\"Throttling\"}\n\n", false, false},
		{"event:error\n:HTTP_STATUS/400\ndata:{\"code\":\"InvalidParameter\"}\n\n", false, false},
		{good, false, false}, {":x\n\n" + good, false, false}, {good + frame, false, false}, {frame + good, false, false},
		{"data:{}\n\n", false, false},
	} {
		if got := accounts.MayRefuse(readingOf(sse, tt.text), tt.open); got != tt.may {
			t.Errorf("%q, open %v: %v", tt.text, tt.open, got)
		}
	}
	if accounts.MayRefuse(&meter.Reading{Opaque: true}, true) {
		t.Error("what cannot be read may refuse")
	}
}

// The longest wait goes with an answer of an account that did no work, and with no other.
func TestTheLongestWaitGoesWithRefusals(t *testing.T) {
	trials := accounts.Trials{Longest: time.Minute}
	for outcome, want := range map[account.Outcome]time.Duration{
		account.Throttled: time.Minute, account.Refused: time.Minute, account.Worked: 0, account.Faulted: 0, account.Other: 0, "": 0,
	} {
		if got := trials.Wait(account.Verdict{Outcome: outcome}); got != want {
			t.Errorf("%q: %s, want %s", outcome, got, want)
		}
	}
	if got := trials.Wait(account.Verdict{Outcome: account.Other, Another: true}); got != time.Minute {
		t.Errorf("another 429: %s", got)
	}
}

// A request keeps the accounts of the reading that it began with, with their newest keys; what one learns of an account the other knows.
func TestARollDoesNotChange(t *testing.T) {
	r, clock := poolOf(t, setOf(t, "id: a", "id: b, weight: 0"))
	before := r.Now()
	next := setOf(t, "id: b", "id: a, weight: 0, models: [other]")
	next.Keys["a"] = "sk-canary-next-0123456789"
	r.Replace(next)
	old, _ := before.Choose(want)
	young, _ := r.Now().Choose(want)
	if old.ID != "a" || young.ID != "b" || old.Spec().Weight != 1 || old.Way().Authorization() != "Bearer sk-canary-next-0123456789" ||
		inFlight(r) != "b:1 a:1" {
		t.Errorf("%s and %s, in flight %s", old.ID, young.ID, inFlight(r))
	}
	if serving := before.Serving(want); len(serving) != 1 || serving[0].ID != "a" || r.Shown("") != "main" || r.Shown("b") != "b" {
		t.Errorf("serving: %v", serving)
	}
	young.End(refused)
	old.End(throttled)
	clock.Move(time.Second)
	if _, choice := before.Choose(want); choice.Refusal != account.Busy || choice.Wait != 9*time.Second {
		t.Errorf("%+v", choice)
	}
	if _, choice := r.Now().Choose(want); choice.Refusal != account.AllOut {
		t.Errorf("%+v", choice)
	}
	if alone, _ := poolOf(t, accounts.Main("sk-canary-0123456789")); alone.Shown("") != "" {
		t.Error("the only account is shown")
	}
}

// An attempt that panics before it is made is counted nowhere.
func TestAPanicDuringAMoveCountsNowhere(t *testing.T) {
	r, _ := poolOf(t, setOf(t, "id: a", "id: b"))
	func() {
		defer func() { _ = recover() }()
		trials := accounts.Trials{Snapshot: r.Now()}
		trials.Next(want, func(*accounts.Attempt) time.Duration { panic("no move") })
	}()
	if got := inFlight(r); got != "a:0 b:0" {
		t.Error(got)
	}
}
