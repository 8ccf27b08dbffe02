package echo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Asked is what the caller knows of a request.
type Asked struct {
	RequestID, Team string
	Client          string        // its address, as the log has it
	Trusted         bool          // it came over a trusted proxy
	Wait            time.Duration // how long the client prefers to wait for the answer
}

// seen is the answer.
type seen struct {
	RequestID string `json:"request_id"`
	Replica   string `json:"replica"` // several have their own counts
	Client    string `json:"client"`
	Forwarded bool   `json:"forwarded"` // something in front said in X-Forwarded-For who the client is
	Trusted   bool   `json:"trusted"`
	Arrived   *int   `json:"arrived,omitempty"` // how often the dropped request has arrived here; absent unless asked for
}

// Answer answers a request, and returns how long it rested. Its error is [ErrQuery] or [ErrBusy], and then nothing is written. It panics
// with [http.ErrAbortHandler] if the connection shall end without an answer.
func (t *Trials) Answer(w http.ResponseWriter, r *http.Request, a Asked) (rested time.Duration, err error) {
	asked, err := read(r.URL.RawQuery)
	if err != nil {
		return 0, err
	}
	if !t.enter(a.Team) {
		return 0, ErrBusy
	}
	defer t.leave(a.Team)
	saw := seen{RequestID: a.RequestID, Replica: t.replica, Client: a.Client, Forwarded: len(r.Header["X-Forwarded-For"]) > 0, Trusted: a.Trusted}
	switch {
	case asked.drop != "":
		t.note(a.Team, asked.drop)
		panic(http.ErrAbortHandler)
	case asked.count != "":
		saw.Arrived = new(t.arrived(a.Team, asked.count))
	}
	text, err := json.Marshal(saw)
	if err != nil {
		return 0, err // it does not happen: strings, bools and a number
	}
	if asked.silence > 0 {
		return stream(w, r, asked.silence, text), nil
	}
	rested = rest(r.Context(), a.Wait)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the caller notes that the client left
	return rested, nil
}

// apart is the time between the first two frames: what is written at once could leave with the header.
const apart = 200 * time.Millisecond

// stream writes a stream of three frames with the silence before the last.
func stream(w http.ResponseWriter, r *http.Request, silence time.Duration, text []byte) (rested time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, pause := range []time.Duration{0, apart, silence} {
		rested += rest(r.Context(), pause)
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil { // the caller notes that the client left
			return rested
		}
		_ = http.NewResponseController(w).Flush()
	}
	return rested
}

// rest lets time pass until the client leaves.
func rest(ctx context.Context, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	select {
	case <-ctx.Done():
	case <-time.After(span):
	}
	return span
}
