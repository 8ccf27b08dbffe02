package simulator

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator/fault"
)

func TestCutStream(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		way   string
		after int
		fails bool
	}{
		{"close", 0, true}, {"close", 3, true}, {"end", 0, false}, {"end", 3, false}, {"end", 9999, false}, {"close", 9999, true},
	} {
		r.Reset()
		r.SetFault(fault.Fault{Cut: tt.way, After: tt.after})
		g := r.post(textPath, say("hi", ""), sse...)
		if (g.err != nil) != tt.fails {
			t.Errorf("%s after %d: reading ends with %v", tt.way, tt.after, g.err)
		}
		frames := strings.Count(g.body, "event:result\n")
		if want := tt.after; tt.after < 9999 && frames != want || tt.after == 9999 && !strings.Contains(g.body, `"stop"`) {
			t.Errorf("%s after %d: %d frames arrived", tt.way, tt.after, frames)
		}
		if billed := r.Tally().Tokens; (billed == 0) != (tt.after == 0) {
			t.Errorf("%s after %d: billed %d tokens", tt.way, tt.after, billed)
		}
	}
}

func TestResetStream(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(fault.Fault{Cut: "reset", After: 1})
	g := r.post(textPath, say("hi", ""), sse...)
	if !errors.Is(g.err, syscall.ECONNRESET) {
		t.Errorf("reading ends with %v, want a reset", g.err)
	}
}

func TestCutPlainAnswer(t *testing.T) {
	r := newRig(t, Config{})
	whole := len(r.post(textPath, say("hi", "")).body)
	for _, tt := range []struct {
		way         string
		after, want int
		fails       bool
	}{
		{"close", 0, 0, true}, {"close", 1, whole / 2, true}, {"reset", 0, 0, true}, {"end", 1, whole / 2, false},
	} {
		r.SetFault(fault.Fault{Cut: tt.way, After: tt.after})
		g := r.post(textPath, say("hi", ""))
		if g.status != 200 && tt.way != "reset" || len(g.body) != tt.want || (g.err != nil) != tt.fails {
			t.Errorf("%s: status %d, %d bytes of %d, error %v", tt.way, g.status, len(g.body), whole, g.err)
		}
	}
}

func TestDrop(t *testing.T) {
	r := newRig(t, Config{})
	for _, way := range []string{"close", "reset"} {
		r.Reset()
		r.SetFault(fault.Fault{Drop: way})
		g := r.post(imagePath, edit(`"n":2`), async...)
		if g.err == nil {
			t.Errorf("%s: answered %d", way, g.status)
		}
		rec := r.Requests()
		if len(rec) != 1 || rec[0].Status != 0 || !rec[0].Executed {
			t.Errorf("%s: recorded %+v", way, rec)
		}
		if got := r.Tally().Images; got != 2 {
			t.Errorf("%s: billed %d images, want 2", way, got)
		}
	}
}

func TestInformational(t *testing.T) {
	r := newRig(t, Config{})
	seen := 0
	ctx := httptrace.WithClientTrace(within(t), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { seen += code / 103; return nil },
	})
	r.SetFault(fault.Fault{Informational: 4})
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", "")).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if seen != 4 || resp.StatusCode != 200 || resp.Header.Get("Link") != "" {
		t.Errorf("%d answers of 103, then %d with Link %q", seen, resp.StatusCode, resp.Header.Get("Link"))
	}
}

func TestUpgrade(t *testing.T) {
	r := newRig(t, Config{})
	resp, err := r.client.Do(r.request("POST", textPath, simulate(`{"upgrade":true}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if tunnel, _ := io.ReadAll(resp.Body); resp.StatusCode != 101 || string(tunnel) != "raw tunnel\n" {
		t.Errorf("answered %d, tunnel says %q", resp.StatusCode, tunnel)
	}
	if r.Tally().Tokens != 0 {
		t.Error("an upgrade was billed")
	}
}

func TestRedirect(t *testing.T) {
	r := newRig(t, Config{})
	g := r.post(textPath, simulate(`{"redirect":"https://elsewhere.example/"}`))
	if g.status != 307 || g.header.Get("Location") != "https://elsewhere.example/" || r.Tally().Tokens != 0 {
		t.Errorf("answered %d to %q", g.status, g.header.Get("Location"))
	}
}

func TestEndlessPlainAnswer(t *testing.T) {
	r := newRig(t, Config{})
	resp, err := r.client.Do(r.request("POST", textPath, simulate(`{"endless":true}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.CopyN(io.Discard, resp.Body, 4<<20); err != nil {
		t.Errorf("it ended after %d bytes: %v", n, err)
	}
}

func TestEndlessStream(t *testing.T) {
	r := newRig(t, Config{})
	resp, err := r.client.Do(r.request("POST", textPath, simulate(`{"endless":true}`), sse...))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	for i := range 200 {
		e, err := readEvent(body)
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if strings.Contains(e.data, `"stop"`) {
			t.Fatalf("frame %d marks the end: %s", i, e.data)
		}
	}
}

func TestGzipWithoutAcceptEncoding(t *testing.T) {
	r := newRig(t, Config{})
	for _, header := range [][]string{nil, sse} {
		plain := r.post(textPath, say("hi", ""), header...)
		g := r.post(textPath, simulate(`{"gzip":true}`), header...)
		z, err := gzip.NewReader(strings.NewReader(g.body))
		if err != nil || g.header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("encoding %q: %v", g.header.Get("Content-Encoding"), err)
		}
		unzipped, err := io.ReadAll(z)
		if err != nil || len(unzipped) != len(plain.body) {
			t.Errorf("unzipped to %d bytes (%v), want %d", len(unzipped), err, len(plain.body))
		}
	}
}

func TestWrongBytes(t *testing.T) {
	r := newRig(t, Config{})
	for _, header := range [][]string{nil, sse} {
		g := r.post(textPath, simulate(`{"body":"<html>","content_type":"text/html","header":{"X-Odd":"1"}}`), header...)
		if g.status != 200 || g.body != "<html>" || g.header.Get("Content-Type") != "text/html" || g.header.Get("X-Odd") != "1" {
			t.Errorf("got %d %q %v", g.status, g.body, g.header)
		}
	}
	if g := r.post(textPath, simulate(`{"body":""}`)); g.status != 200 || g.body != "" {
		t.Errorf("got %d %q, want no bytes", g.status, g.body)
	}
}

func TestSlowHeaders(t *testing.T) {
	r := newRig(t, Config{})
	for _, header := range [][]string{nil, sse} {
		plain := r.post(textPath, say("hi", ""), header...)
		begun := time.Now()
		g := r.post(textPath, simulate(`{"header_delay_ms":5}`), header...)
		if g.err != nil || g.status != 200 || len(g.body) != len(plain.body) || g.header.Get("Content-Type") != plain.header.Get("Content-Type") {
			t.Errorf("got %d %v, %d bytes", g.status, g.err, len(g.body))
		}
		if took := time.Since(begun); took < 40*time.Millisecond {
			t.Errorf("the header took %v", took)
		}
		if id := g.header.Get("X-Request-Id"); id == "" || !strings.Contains(g.body, id) {
			t.Errorf("request id %q is not in the body", id)
		}
	}
	r.post(textPath, simulate(`{"header_delay_ms":1,"error":{"status":503}}`)).want(t, 503, "ModelUnavailable")
}

func TestDelay(t *testing.T) {
	r := newRig(t, Config{})
	begun := time.Now()
	if g := r.post(textPath, simulate(`{"delay_ms":40}`)); g.status != 200 || time.Since(begun) < 40*time.Millisecond {
		t.Errorf("answered %d after %v", g.status, time.Since(begun))
	}
	begun = time.Now()
	r.post(textPath, simulate(`{"delay_ms":40,"error":{"status":503}}`)).want(t, 503, "ModelUnavailable")
	if time.Since(begun) < 40*time.Millisecond {
		t.Error("the refusal was not delayed")
	}
}

// A delay ends when the client leaves, and the work is billed all the same.
func TestDelayEndsWithTheClient(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(fault.Fault{Delay: time.Hour})
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

// A writer without a connection cannot be hijacked; the answer still breaks off.
func TestBreakWithoutAConnection(t *testing.T) {
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("panicked with %v", got)
		}
	}()
	serveOnce(New(Config{}), textPath, simulate(`{"drop":"reset"}`))
}
