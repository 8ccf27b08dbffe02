package simulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

func TestNoUsage(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{NoUsage: true})
	if o := r.post(textPath, say("hi", "")).object(t); at(o, "usage") != nil {
		t.Errorf("usage is %v", o["usage"])
	}
	for i, e := range r.post(textPath, say("hi", ""), sse...).events(t) {
		if at(e.object(t), "usage") != nil {
			t.Errorf("frame %d has usage", i)
		}
	}
	if r.Tally().Tokens == 0 {
		t.Error("an answer without usage was not billed")
	}
}

func TestHugeFrames(t *testing.T) {
	r := newRig(t, Config{})
	const size = 200_000 // beyond any scanner's line
	r.SetFault(Fault{PadBytes: size})
	events := r.post(textPath, say("hi", ""), sse...).events(t)
	for i, e := range events {
		if len(e.data) < size {
			t.Errorf("frame %d has %d bytes", i, len(e.data))
		}
		if at(e.object(t), "usage") == nil {
			t.Errorf("frame %d lost its usage", i)
		}
	}
	if g := r.post(textPath, say("hi", "")); len(g.body) < size {
		t.Errorf("a plain answer has %d bytes", len(g.body))
	}
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
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
			answered := make(chan got)
			r.SetFault(tt.fault)
			go func() { answered <- r.post(textPath, say("hi", ""), tt.header...) }()
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
	r.SetFault(Fault{Stall: "body", After: 1})
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", "")))
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
		name, path, body, stall string
		header                  []string
		want                    func(Tally) bool
	}{
		{"text", textPath, say("hi", ""), "before", nil, func(t Tally) bool { return t.Tokens > 0 }},
		{"stream", textPath, say("hi", ""), "body", sse, func(t Tally) bool { return t.Tokens > 20 }},
		{"image", multimodalPath, draw(`"n":3`), "headers", nil, func(t Tally) bool { return t.Images == 3 }},
		{"task", imagePath, edit(`"n":2`), "before", async, func(t Tally) bool { return t.Images == 2 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.SetFault(Fault{Stall: tt.stall, After: 1})
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
	r.SetFault(Fault{Endless: true})
	ctx, cancel := context.WithCancel(within(t))
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", ""), sse...).WithContext(ctx))
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
