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
		r.SetFault(Fault{Cut: tt.way, After: tt.after})
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
	r.SetFault(Fault{Cut: "reset", After: 1})
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
		r.SetFault(Fault{Cut: tt.way, After: tt.after})
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
		r.SetFault(Fault{Drop: way})
		g := r.post(imagePath, edit(`"n":2`), async...)
		if g.err == nil {
			t.Errorf("%s: answered %d", way, g.status)
		}
		if got := r.Tally(); got.Images != 2 || got.Executed[EndpointImage] != 1 {
			t.Errorf("%s: billed %+v, want 2 images", way, got)
		}
	}
}

func TestInformational(t *testing.T) {
	r := newRig(t, Config{})
	seen := 0
	ctx := httptrace.WithClientTrace(within(t), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { seen += code / 103; return nil },
	})
	r.SetFault(Fault{Informational: 4})
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
	r.SetFault(Fault{Upgrade: true})
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", "")))
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
	g := r.with(Fault{Redirect: "https://elsewhere.example/"}).post(textPath, say("hi", ""))
	if g.status != 307 || g.header.Get("Location") != "https://elsewhere.example/" || r.Tally().Tokens != 0 {
		t.Errorf("answered %d to %q", g.status, g.header.Get("Location"))
	}
}

func TestEndlessPlainAnswer(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{Endless: true})
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", "")))
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
	r.SetFault(Fault{Endless: true})
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", ""), sse...))
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
		plain := r.with(Fault{}).post(textPath, say("hi", ""), header...)
		g := r.with(Fault{Gzip: true}).post(textPath, say("hi", ""), header...)
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
		g := r.with(Fault{Body: new("<html>"), Header: map[string]string{"X-Odd": "1"}}).post(textPath, say("hi", ""), header...)
		if g.status != 200 || g.body != "<html>" || g.header.Get("Content-Type") != "application/json" || g.header.Get("X-Odd") != "1" {
			t.Errorf("got %d %q %v", g.status, g.body, g.header)
		}
	}
	if g := r.with(Fault{Body: new("")}).post(textPath, say("hi", "")); g.status != 200 || g.body != "" {
		t.Errorf("got %d %q, want no bytes", g.status, g.body)
	}
}

func TestDelay(t *testing.T) {
	r := newRig(t, Config{})
	for _, refusal := range []*FaultError{nil, {Status: 200}} {
		begun := time.Now()
		g := r.with(Fault{Delay: 40 * time.Millisecond, Error: refusal}).post(textPath, say("hi", ""))
		if took := time.Since(begun); g.status != 200 || took < 40*time.Millisecond {
			t.Errorf("answered %d after %v", g.status, took)
		}
	}
}

// A delay ends when the client leaves, and the work is billed all the same.
func TestDelayEndsWithTheClient(t *testing.T) {
	r := newRig(t, Config{})
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

// A writer without a connection cannot be hijacked; the answer still breaks off.
func TestBreakWithoutAConnection(t *testing.T) {
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("panicked with %v", got)
		}
	}()
	s := New(Config{})
	s.SetFault(Fault{Drop: "reset"})
	serveOnce(s, textPath, say("hi", ""))
}

func TestZippedStreamThatIsReset(t *testing.T) {
	r := newRig(t, Config{})
	if g := r.with(Fault{Gzip: true, Cut: "reset", After: 1}).post(textPath, say("hi", ""), sse...); g.err == nil {
		t.Errorf("answered %d %q", g.status, g.body)
	}
	g := r.with(Fault{Gzip: true, Cut: "close", After: 1}).post(textPath, say("hi", ""), sse...)
	if g.err == nil || g.body == "" {
		t.Errorf("a cut one ends with %v after %d bytes", g.err, len(g.body))
	}
}
