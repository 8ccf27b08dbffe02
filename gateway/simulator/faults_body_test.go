package simulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestUsageFaults(t *testing.T) {
	r := newRig(t, Config{})
	o := r.post(textPath, simulate(`{"no_usage":true}`)).object(t)
	if _, ok := o["usage"]; ok {
		t.Errorf("usage is %v", o["usage"])
	}
	truth := r.Tally().Tokens
	if truth == 0 {
		t.Error("an answer without usage was not billed")
	}
	o = r.post(textPath, simulate(`{"usage":[{"total_tokens":-1,"odd":"x"}]}`)).object(t)
	if at(o, "usage", "total_tokens") != -1. || at(o, "usage", "odd") != "x" {
		t.Errorf("usage is %v", o["usage"])
	}
	if got := r.Tally().Tokens; got != 2*truth {
		t.Errorf("billed %d, want the true %d twice", got, truth)
	}
}

func TestUsageFaultsInAStream(t *testing.T) {
	r := newRig(t, Config{})
	for i, e := range r.post(textPath, simulate(`{"no_usage":true}`), sse...).events(t) {
		if _, ok := e.object(t)["usage"]; ok {
			t.Errorf("frame %d has usage", i)
		}
	}
	// Usage grows, shrinks and disappears.
	events := r.post(textPath, simulate(`{"usage":[{"total_tokens":5},{"total_tokens":9},{"total_tokens":7},null]}`), sse...).events(t)
	for i, want := range []any{5., 9., 7., nil, nil} {
		if got := at(events[i].object(t), "usage", "total_tokens"); got != want {
			t.Errorf("frame %d tells %v tokens, want %v", i, got, want)
		}
	}
}

func TestHugeFrames(t *testing.T) {
	r := newRig(t, Config{})
	const size = 200_000 // beyond any scanner's line
	events := r.post(textPath, simulate(fmt.Sprintf(`{"pad_bytes":%d}`, size)), sse...).events(t)
	for i, e := range events {
		if len(e.data) < size {
			t.Errorf("frame %d has %d bytes", i, len(e.data))
		}
		if at(e.object(t), "usage") == nil {
			t.Errorf("frame %d lost its usage", i)
		}
	}
	if g := r.post(textPath, simulate(fmt.Sprintf(`{"pad_bytes":%d}`, size))); len(g.body) < size {
		t.Errorf("a plain answer has %d bytes", len(g.body))
	}
}

func TestWritesAtOddBorders(t *testing.T) {
	r := newRig(t, Config{})
	ask := `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"水闸"}]},"parameters":{"simulate":{"write_bytes":%d}}}`
	want := r.post(textPath, fmt.Sprintf(ask, 0), sse...)
	for _, n := range []int{1, 7, 1000} {
		g := r.post(textPath, fmt.Sprintf(ask, n), sse...)
		if a, b := told(t, g.events(t), false, "output", "text"), told(t, want.events(t), false, "output", "text"); a != b || a == "" {
			t.Errorf("in pieces of %d the text is %q, want %q", n, a, b)
		}
	}
}

func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		header      []string
	}{
		{"before a plain answer", `{"stall":"before"}`, nil},
		{"behind its header", `{"stall":"headers"}`, nil},
		{"in front of its body", `{"stall":"body"}`, nil},
		{"in its body", `{"stall":"body","after":1}`, nil},
		{"before a stream", `{"stall":"before"}`, sse},
		{"behind its header", `{"stall":"headers"}`, sse},
		{"in front of its frames", `{"stall":"body"}`, sse},
		{"in the middle", `{"stall":"body","after":2}`, sse},
		{"behind its frames", `{"stall":"body","after":9999}`, sse},
		{"before a refusal", `{"stall":"before","error":{"status":200}}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
			answered := make(chan got)
			go func() { answered <- r.post(textPath, simulate(tt.fault), tt.header...) }()
			if err := r.AwaitStalled(within(t), 1); err != nil {
				t.Fatal(err)
			}
			select {
			case g := <-answered:
				t.Fatalf("answered while stalled: %+v", g)
			default:
			}
			r.Release()
			if g := <-answered; g.err != nil || g.status != 200 || g.body == "" {
				t.Errorf("after the release: %d %v %q", g.status, g.err, g.body)
			}
		})
	}
}

func TestStallShowsWhatCameBefore(t *testing.T) {
	r := newRig(t, Config{})
	resp, err := r.client.Do(r.request("POST", textPath, simulate(`{"stall":"body","after":1}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	half := make([]byte, resp.ContentLength/2)
	if _, err := io.ReadFull(resp.Body, half); err != nil {
		t.Fatalf("half the body did not come: %v", err)
	}
	if err := r.AwaitStalled(within(t), 1); err != nil {
		t.Fatal(err)
	}
	r.Release()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !json.Valid(append(half, rest...)) {
		t.Errorf("the whole is %s%s, %v", half, rest, err)
	}
}

// Work is billed whether or not the client receives it.
func TestVanishedClientIsBilled(t *testing.T) {
	for _, tt := range []struct {
		name, path, body string
		header           []string
		want             func(Tally) bool
	}{
		{"text", textPath, say("hi", `"simulate":{"stall":"before"}`), nil, func(t Tally) bool { return t.Tokens > 0 }},
		{"stream", textPath, say("hi", `"simulate":{"stall":"body","after":1}`), sse, func(t Tally) bool { return t.Tokens > 20 }},
		{"image", multimodalPath, draw(`"n":3,"simulate":{"stall":"headers"}`), nil, func(t Tally) bool { return t.Images == 3 }},
		{"task", imagePath, edit(`"n":2,"simulate":{"stall":"before"}`), async, func(t Tally) bool { return t.Images == 2 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
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
				t.Fatal(err)
			}
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("the client left with %v", err)
			}
			if got := r.Tally(); !tt.want(got) {
				t.Errorf("billed %+v", got)
			}
		})
	}
}

// A client that leaves in the middle of a stream ends the handler.
func TestStreamEndsWithTheClient(t *testing.T) {
	r := newRig(t, Config{})
	ctx, cancel := context.WithCancel(within(t))
	resp, err := r.client.Do(r.request("POST", textPath, simulate(`{"endless":true}`), sse...).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readEvent(bufio.NewReader(resp.Body)); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	r.server.Close() // waits for the handler
}

func TestStatusIsRecorded(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, say("hi", ""))
	r.post(textPath, `{}`)
	r.post(textPath, `{}`, sse...)
	r.post(textPath, simulate(`{"redirect":"/"}`))
	var statuses []string
	for _, rec := range r.Requests() {
		statuses = append(statuses, fmt.Sprint(rec.Status))
	}
	if got := strings.Join(statuses, " "); got != "200 400 200 307" {
		t.Errorf("statuses are %s", got)
	}
}
