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
	Wait            time.Duration // how long the client wants to wait for the answer
}

// seen is the answer.
type seen struct {
	RequestID string `json:"request_id"`
	Replica   string `json:"replica"` // each replica has its own counts
	Client    string `json:"client"`
	Forwarded bool   `json:"forwarded"` // a proxy in front named the client in X-Forwarded-For
	Trusted   bool   `json:"trusted"`
	Arrived   *int   `json:"arrived,omitempty"` // how often the dropped request has arrived here; absent unless asked for
}

// Answer answers a request, and returns how long it rested. The error is [ErrQuery] or [ErrBusy]; nothing is written then. It panics
// with [http.ErrAbortHandler] if the connection must end without an answer.
func (t *Trials) Answer(w http.ResponseWriter, r *http.Request, a Asked) (rested time.Duration, err error) {
	asked, err := read(r.URL.RawQuery)
	if err != nil {
		return 0, err
	}
	if !t.enter(a.Team) {
		return 0, ErrBusy
	}
	defer t.leave(a.Team)
	saw := seen{
		RequestID: a.RequestID, Replica: t.replica, Client: a.Client, Forwarded: len(r.Header["X-Forwarded-For"]) > 0,
		Trusted: a.Trusted,
	}
	switch {
	case asked.drop != "":
		t.note(a.Team, asked.drop)
		panic(http.ErrAbortHandler)
	case asked.count != "":
		saw.Arrived = new(t.arrived(a.Team, asked.count))
	}
	text, err := json.Marshal(saw)
	if err != nil {
		return 0, err // never happens: strings, bools and a number
	}
	if asked.silence > 0 {
		return stream(w, r, asked.silence, text), nil
	}
	rested = rest(r.Context(), a.Wait)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the caller notes that the client left
	return rested, nil
}

// frameGap is the time between the first two frames: a frame that is written at once could leave with the header.
const frameGap = 200 * time.Millisecond

// stream writes a stream of three frames with the silence before the last.
func stream(w http.ResponseWriter, r *http.Request, silence time.Duration, text []byte) (rested time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, pause := range []time.Duration{0, frameGap, silence} {
		rested += rest(r.Context(), pause)
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil { // the caller notes that the client left
			return rested
		}
		_ = http.NewResponseController(w).Flush()
	}
	return rested
}

// rest waits for span, or until the client leaves.
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
