package simulator

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

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
		r.post(textPath, say("hi", ""), "Authorization", "Bearer x").want(t, 401, "InvalidApiKey") // a fault needs a key
		got := ""
		for range tt.want {
			got += map[bool]string{true: ".", false: "x"}[r.post(textPath, say("hi", "")).status == 200]
		}
		if r.Reset(); got != tt.want || r.post(textPath, say("hi", "")).status != 200 {
			t.Errorf("%s: %s, want %s, and none after Reset", tt.name, got, tt.want)
		}
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
		{FaultError{Code: "Arrearage"}, 400, "Arrearage"},
		{FaultError{Code: "Throttling.BurstRate"}, 429, "Throttling.BurstRate"},
		{FaultError{Status: 403, Code: "Arrearage"}, 403, "Arrearage"},
	} {
		if r := tt.in.refusal(); r.status != tt.status || r.code != tt.code || r.message == "" {
			t.Errorf("%+v answers %v, want %d %s", tt.in, r, tt.status, tt.code)
		}
	}
}

// What a fault makes of an answer and of a stream. billed: some of the work is.
func TestFaults(t *testing.T) {
	const huge = 200_000 // beyond any scanner's line
	r := newRig(t, Config{})
	plain, stream := r.post(textPath, say("hi", "")), r.post(textPath, say("hi", ""), sse...)
	whole, frames := len(plain.body), len(stream.events(t))
	results := func(g got) int { return strings.Count(g.body, "event:result\n") }
	refused := func(status int, code string) func(got) bool {
		return func(g got) bool {
			return g.status == status && strings.HasPrefix(g.body, `{"code":"`+code+`","message":`)
		}
	}
	cut := func(bytes int, fails bool) func(got) bool {
		return func(g got) bool { return (g.err != nil) == fails && len(g.body) == bytes }
	}
	cutStream := func(events int, fails bool) func(got) bool {
		return func(g got) bool { return (g.err != nil) == fails && results(g) == events }
	}
	failed := func(events int) func(got) bool { // as the last frame reports
		return func(g got) bool {
			list := g.events(t)
			last := list[len(list)-1]
			return len(list) == events+1 && last.name == "error" && last.status == "429" &&
				strings.HasPrefix(last.data, `{"code":"Throttling.RateQuota","message":`)
		}
	}
	rate := &FaultError{Status: 429}
	for _, tt := range []struct {
		name   string
		fault  Fault
		stream bool
		is     func(got) bool
		billed bool
	}{
		{"an error", Fault{Error: &FaultError{Status: 429, Code: "Throttling.AllocationQuota", Message: "too much"}, RetryAfter: "7"}, false,
			func(g got) bool {
				return refused(429, "Throttling.AllocationQuota")(g) && g.header.Get("Retry-After") == "7" && strings.Contains(g.body, `"too much"`)
			}, false},
		{"a whole answer has no middle", Fault{Error: rate, After: 3}, false, refused(429, "Throttling.RateQuota"), false},
		{"a plain error", Fault{Error: &FaultError{Status: 429, Plain: true}}, true, refused(429, "Throttling.RateQuota"), false},
		{"an error before content", Fault{Error: rate}, true, failed(0), false},
		{"an error in the middle", Fault{Error: rate, After: 3}, true, failed(3), true},
		{"an error at the end", Fault{Error: rate, After: 9999}, true, failed(frames), true},
		{"close", Fault{Cut: "close"}, false, cut(0, true), true},
		{"close in the body", Fault{Cut: "close", After: 1}, false, cut(whole/2, true), true},
		{"reset", Fault{Cut: "reset"}, false, cut(0, true), true},
		{"end", Fault{Cut: "end", After: 1}, false, cut(whole/2, false), true},
		{"close a stream", Fault{Cut: "close"}, true, cutStream(0, true), false},
		{"close in a stream", Fault{Cut: "close", After: 3}, true, cutStream(3, true), true},
		{"close behind a stream", Fault{Cut: "close", After: 9999}, true, cutStream(frames, true), true},
		{"end a stream", Fault{Cut: "end"}, true, cutStream(0, false), false},
		{"end in a stream", Fault{Cut: "end", After: 3}, true, cutStream(3, false), true},
		{"end behind a stream", Fault{Cut: "end", After: 9999}, true, cutStream(frames, false), true},
		{"reset in a stream", Fault{Cut: "reset", After: 1}, true, func(g got) bool { return errors.Is(g.err, syscall.ECONNRESET) }, true},
		{"drop", Fault{Drop: "close"}, false, cut(0, true), true},
		{"drop by reset", Fault{Drop: "reset"}, false, cut(0, true), true},
		{"redirect", Fault{Redirect: "https://elsewhere.example/"}, false, func(g got) bool {
			return g.status == 307 && g.header.Get("Location") == "https://elsewhere.example/"
		}, false},
		{"other bytes", Fault{Body: new("<html>"), Header: map[string]string{"X-Odd": "1"}}, true, func(g got) bool {
			return g.status == 200 && g.body == "<html>" && g.header.Get("Content-Type") == "application/json" && g.header.Get("X-Odd") == "1"
		}, true},
		{"no bytes", Fault{Body: new("")}, false, cut(0, false), true},
		{"gzip", Fault{Gzip: true}, false, func(g got) bool { return len(unzipped(g)) == whole }, true},
		{"gzip in a stream", Fault{Gzip: true}, true, func(g got) bool { return len(unzipped(g)) == len(stream.body) }, true},
		{"gzip and reset", Fault{Gzip: true, Cut: "reset", After: 1}, true, func(g got) bool { return g.err != nil }, true},
		{"gzip and close", Fault{Gzip: true, Cut: "close", After: 1}, true, func(g got) bool { return g.err != nil && g.body != "" }, true},
		{"huge", Fault{PadBytes: huge}, false, func(g got) bool { return len(g.body) > huge && at(g.object(t), "usage") != nil }, true},
		{"huge frames", Fault{PadBytes: huge}, true, func(g got) bool {
			for _, e := range g.events(t) {
				if len(e.data) < huge || at(e.object(t), "usage") == nil {
					return false
				}
			}
			return results(g) == frames
		}, true},
		{"no usage", Fault{NoUsage: true}, false, func(g got) bool { return g.status == 200 && !strings.Contains(g.body, "usage") }, true},
		{"no usage in a stream", Fault{NoUsage: true}, true, func(g got) bool {
			return results(g) == frames && !strings.Contains(g.body, "usage")
		}, true},
		{"a delay", Fault{Delay: time.Millisecond}, false, func(g got) bool { return g.status == 200 }, true},
	} {
		r.Reset()
		header := map[bool][]string{true: sse}[tt.stream]
		if g := r.with(tt.fault).post(textPath, say("hi", ""), header...); !tt.is(g) {
			t.Errorf("%s: %d %.200q %v, %v", tt.name, g.status, g.body, g.header, g.err)
		}
		if billed := r.Tally().Tokens; (billed > 0) != tt.billed || r.Tally().Executed[EndpointText] == 0 && billed > 0 {
			t.Errorf("%s: billed %d tokens", tt.name, billed)
		}
	}
}

// unzipped is the body of an answer that is compressed.
func unzipped(g got) string {
	z, err := gzip.NewReader(strings.NewReader(g.body))
	if err != nil || g.header.Get("Content-Encoding") != "gzip" {
		return ""
	}
	text, _ := io.ReadAll(z)
	return string(text)
}

// A stream that fails costs what was sent.
func TestMidStreamErrorIsBilledAsFarAsItCame(t *testing.T) {
	r := newRig(t, Config{})
	events := r.with(Fault{Error: &FaultError{}, After: 3}).post(textPath, say("hi", ""), sse...).events(t)
	if told := at(events[2].object(t), "usage.total_tokens").(float64); r.Tally().Tokens != int64(told) {
		t.Errorf("billed %d tokens, told %v", r.Tally().Tokens, told)
	}
}

func TestInformationalAndUpgrade(t *testing.T) {
	r, seen := newRig(t, Config{}), 0
	ctx := httptrace.WithClientTrace(within(t), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { seen += code / 103; return nil },
	})
	resp := r.with(Fault{Informational: 4}).begin(r.request("POST", textPath, say("hi", "")).WithContext(ctx))
	if seen != 4 || resp.StatusCode != 200 || resp.Header.Get("Link") != "" {
		t.Errorf("%d answers of 103, then %d with Link %q", seen, resp.StatusCode, resp.Header.Get("Link"))
	}
	r.Reset()
	resp = r.with(Fault{Upgrade: true}).begin(r.request("POST", textPath, say("hi", "")))
	if tunnel, _ := io.ReadAll(resp.Body); resp.StatusCode != 101 || string(tunnel) != "raw tunnel\n" || r.Tally().Tokens != 0 {
		t.Errorf("answered %d, tunnel says %q, billed %d", resp.StatusCode, tunnel, r.Tally().Tokens)
	}
}

// An endless answer continues, without the frame that marks a stream's end, until the client leaves.
func TestEndless(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{Endless: true})
	plain := r.begin(r.request("POST", textPath, say("hi", "")))
	if n, err := io.CopyN(io.Discard, plain.Body, 4<<20); err != nil {
		t.Errorf("it ended after %d bytes: %v", n, err)
	}
	plain.Body.Close()
	ctx, cancel := context.WithCancel(within(t))
	stream := r.begin(r.request("POST", textPath, say("hi", ""), sse...).WithContext(ctx))
	frames := bufio.NewReader(stream.Body)
	for i := range 200 {
		if e, err := readEvent(frames); err != nil || strings.Contains(e.data, `"stop"`) {
			t.Fatalf("frame %d: %v, %s", i, err, e.data)
		}
	}
	cancel()
	stream.Body.Close()
	r.server.Close() // waits for the handlers
}

// A delay ends when the client leaves, and the work is still billed.
func TestDelayEndsWithTheClient(t *testing.T) {
	r := newRig(t, Config{})
	begun := time.Now()
	if r.with(Fault{Delay: 40 * time.Millisecond, Error: &FaultError{Status: 200}}).
		post(textPath, say("hi", "")); time.Since(begun) < 40*time.Millisecond {
		t.Errorf("a refusal is answered after %v", time.Since(begun))
	}
	r.SetFault(Fault{Delay: time.Hour})
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error)
	go func() {
		_, err := r.client.Do(r.request("POST", textPath, say("hi", "")).WithContext(ctx))
		done <- err
	}()
	await(t, func() bool { return r.Tally().Tokens > 0 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	r.server.Close() // waits for the handler
}

// A writer without a connection cannot be hijacked, and over TLS no TCP reset is sent; the answer still breaks off.
func TestBreakWithoutAConnection(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s := New(Config{})
		server := httptest.NewUnstartedServer(s)
		server.EnableHTTP2 = http2
		server.StartTLS()
		t.Cleanup(server.Close)
		for _, fault := range []Fault{{Drop: "reset"}, {Cut: "reset", After: 1}, {Cut: "close", After: 1}, {}} {
			s.SetFault(fault)
			req, _ := http.NewRequest("POST", server.URL+multimodalPath, strings.NewReader(draw("")))
			req.Header.Set("Authorization", "Bearer k")
			resp, err := server.Client().Do(req)
			var body []byte
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if whole := fault.Drop+fault.Cut == ""; whole != (err == nil) || whole && !strings.Contains(string(body), server.URL+"/pictures/") {
				t.Errorf("HTTP/2 %v: %+v is answered %s, %v", http2, fault, body, err)
			}
		}
	}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("panicked with %v", got)
		}
	}()
	s := New(Config{})
	s.SetFault(Fault{Drop: "reset"})
	serveOnce(s, textPath, say("hi", ""))
}

func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  Fault
		header []string
	}{
		{"before a plain answer", Fault{Stall: "before"}, nil},
		{"behind its header", Fault{Stall: "headers"}, nil},
		{"in front of its body", Fault{Stall: "body"}, nil},
		{"in its body", Fault{Stall: "body", After: 1}, nil},
		{"before a stream", Fault{Stall: "before"}, sse},
		{"behind its header", Fault{Stall: "headers"}, sse},
		{"in front of its frames", Fault{Stall: "body"}, sse},
		{"in the middle", Fault{Stall: "body", After: 2}, sse},
		{"behind its frames", Fault{Stall: "body", After: 9999}, sse},
		{"before a refusal", Fault{Stall: "before", Error: &FaultError{Status: 200}}, nil},
	} {
		r := newRig(t, Config{}).with(tt.fault)
		answered := make(chan got)
		go func() { answered <- r.post(textPath, say("hi", ""), tt.header...) }()
		if err := r.AwaitStalled(within(t), 1); err != nil {
			t.Fatal(tt.name, err)
		}
		select {
		case g := <-answered:
			t.Fatalf("%s: answered while stalled: %+v", tt.name, g)
		default:
		}
		r.Release()
		if g := <-answered; g.err != nil || g.status != 200 || g.body == "" {
			t.Errorf("%s: after the release: %d %v %q", tt.name, g.status, g.err, g.body)
		}
	}
}

// A stalled answer shows what was sent before: half of a document, each frame before the next one is made.
func TestStallShowsWhatCameBefore(t *testing.T) {
	r := newRig(t, Config{}).with(Fault{Stall: "body", After: 1})
	release := func() {
		if err := r.AwaitStalled(within(t), 1); err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	resp := r.begin(r.request("POST", textPath, say("hi", "")))
	half := make([]byte, resp.ContentLength/2)
	if _, err := io.ReadFull(resp.Body, half); err != nil {
		t.Fatalf("half the body did not come: %v", err)
	}
	release()
	if rest, err := io.ReadAll(resp.Body); err != nil || !json.Valid(append(half, rest...)) {
		t.Errorf("the whole is %s%s, %v", half, rest, err)
	}
	frames := bufio.NewReader(r.begin(r.request("POST", textPath, say("hi", ""), sse...)).Body)
	for _, want := range []string{"1", "2"} {
		if e, err := readEvent(frames); err != nil || e.id != want {
			t.Fatalf("frame %s is %+v, %v", want, e, err)
		}
		if want == "1" {
			release()
		}
	}
}

// Work is billed whether or not the client receives it.
func TestVanishedClientIsBilled(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, stall string
		header                  []string
		tokens, images          int64 // at least
	}{
		{"text", textPath, say("hi", ""), "before", nil, 1, 0},
		{"stream", textPath, say("hi", ""), "body", sse, 20, 0},
		{"image", multimodalPath, draw(`"n":3`), "headers", nil, 0, 3},
		{"task", imagePath, edit(`"n":2`), "before", async, 0, 2},
	} {
		r := newRig(t, Config{}).with(Fault{Stall: tt.stall, After: 1})
		ctx, cancel := context.WithCancel(within(t))
		left := make(chan error)
		go func() {
			resp, err := r.client.Do(r.request("POST", tt.path, tt.body, tt.header...).WithContext(ctx))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			left <- err
		}()
		if err := r.AwaitStalled(within(t), 1); err != nil {
			t.Fatal(tt.name, err)
		}
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the client left with %v", tt.name, err)
		}
		if got := r.Tally(); got.Tokens < tt.tokens || got.Images != tt.images {
			t.Errorf("%s: billed %+v", tt.name, got)
		}
	}
}

// Stalled requests end by a release or by their context, and so do calls of await; a later request waits for the next release.
func TestWaitingForARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalls()
		s.release() // without requests it does nothing
		for _, n := range []int{3, 1} {
			done := make(chan error, n)
			for range n {
				go func() { done <- s.wait(t.Context()) }()
			}
			if err := s.await(t.Context(), n); err != nil || len(done) > 0 {
				t.Fatalf("%v, %d went on unreleased", err, len(done))
			}
			s.release()
			for range n {
				if err := <-done; err != nil || s.waiting != 0 {
					t.Errorf("a released request got %v, %d wait", err, s.waiting)
				}
			}
		}
		for _, block := range []func(context.Context) error{s.wait, func(ctx context.Context) error { return s.await(ctx, 2) }} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- block(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || s.waiting != 0 {
				t.Errorf("left with %v, %d waiting", err, s.waiting)
			}
		}
	})
}
