// Package fault describes the ways in which the simulator misbehaves on demand.
//
// It decides which fault a request has. Package wire and package task act it out.
package fault

import (
	"encoding/json"
	"time"
)

// Fault is one way for the service to misbehave. The zero value does nothing; fields can be combined.
//
// A request has at most one fault: that of its header X-Simulate (JSON), else of its member parameters.simulate, else
// Poll of the task that it queries, else one of Simulator.SetFault. Unknown members of the JSON are refused, so that a
// mistyped test cannot pass.
type Fault struct {
	// On limits a fault of SetFault to one endpoint (one of the Endpoint words). Empty means every endpoint.
	On string `json:"on,omitempty"`
	// Skip and Times limit a fault of SetFault: it skips the first Skip requests, then applies to Times requests. Times
	// zero means all.
	Skip  int `json:"skip,omitempty"`
	Times int `json:"times,omitempty"`

	// Delay passes before anything is answered. In JSON: delay_ms.
	Delay time.Duration `json:"-"`
	// HeaderDelay passes before every line of the response header, from the status line on. In JSON: header_delay_ms.
	HeaderDelay time.Duration `json:"-"`
	// FrameDelay replaces Config.FrameDelay if it is not zero. In JSON: frame_delay_ms.
	FrameDelay time.Duration `json:"-"`

	// Error is answered in place of a result.
	Error *Error `json:"error,omitempty"`
	// After is how many stream frames are sent before Error, Cut or Stall. Of an answer that is no stream, the first
	// half is sent if After is above zero.
	After int `json:"after,omitempty"`
	// Cut ends the answer there: "close" breaks the framing, "reset" does so with a TCP RST, "end" ends it like a
	// complete answer.
	Cut string `json:"cut,omitempty"`
	// Stall waits until Simulator.Release is called or the client leaves: "before" the answer's first byte, after its
	// "headers", or in its "body" after After frames.
	Stall string `json:"stall,omitempty"`
	// Drop ends the connection ("close" or "reset") without an answer, after the work was done and billed.
	Drop string `json:"drop,omitempty"`

	// Informational is how many 103 answers are sent before the real one.
	Informational int `json:"informational,omitempty"`
	// Upgrade answers 101 and then sends bytes that are not HTTP.
	Upgrade bool `json:"upgrade,omitempty"`
	// Redirect answers 307 with this Location; nothing is executed.
	Redirect string `json:"redirect,omitempty"`
	// Endless never ends the body: a stream repeats itself, another answer goes on with white space.
	Endless bool `json:"endless,omitempty"`
	// Gzip compresses the body, accepted or not.
	Gzip bool `json:"gzip,omitempty"`
	// Body is sent in place of the answer's bytes, with status 200.
	Body *string `json:"body,omitempty"`
	// ContentType replaces the answer's media type.
	ContentType string `json:"content_type,omitempty"`
	// Header adds response headers.
	Header map[string]string `json:"header,omitempty"`
	// RetryAfter is the value of the header Retry-After.
	RetryAfter string `json:"retry_after,omitempty"`

	// WriteBytes is the size of the pieces in which a stream is written and flushed. Zero writes whole frames.
	WriteBytes int `json:"write_bytes,omitempty"`
	// PadBytes is the size of an unknown member that is added to every frame or document.
	PadBytes int `json:"pad_bytes,omitempty"`

	// NoUsage leaves out usage.
	NoUsage bool `json:"no_usage,omitempty"`
	// Usage replaces usage: entry i in frame i, the last entry in all later frames. A document takes the first. It does
	// not change what is billed.
	Usage []json.RawMessage `json:"usage,omitempty"`
	// TaskID replaces the task id in an answer.
	TaskID string `json:"task_id,omitempty"`

	// Task is the fate of the task that this request creates.
	Task *Task `json:"task,omitempty"`
	// Poll is the fault of every query of the task that this request creates.
	Poll *Fault `json:"poll,omitempty"`
}

// Error is a refusal. In a stream it is an event:error frame unless Plain is set.
type Error struct {
	// Status is the HTTP status; zero is 500.
	Status int `json:"status,omitempty"`
	// Code and Message are the body's; an empty Code follows from Status.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Usage is put into the body if not empty. It does not change what is billed.
	Usage json.RawMessage `json:"usage,omitempty"`
	// Executed does the work first, and bills it.
	Executed bool `json:"executed,omitempty"`
	// Plain answers with Status even if the request wants a stream.
	Plain bool `json:"plain,omitempty"`
}

// Task is the fate of one task.
type Task struct {
	// Pending and Running replace those of Config if not nil. In JSON: pending_ms, running_ms.
	Pending *time.Duration `json:"-"`
	Running *time.Duration `json:"-"`
	// Outcome is "succeed" (also the empty string), "fail", "fail_pending" (FAILED straight from PENDING), "partial",
	// "suspend" (SUSPENDED in place of PENDING), "cancel" (by the service itself, from RUNNING) or "never" (RUNNING
	// without end).
	Outcome string `json:"outcome,omitempty"`
	// Failed is how many images of a partial outcome fail; zero is one.
	Failed int `json:"failed,omitempty"`
	// Code and Message tell why a task or an image failed; empty is InternalError.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// States replaces the states that the queries see, one per query; the last one stays.
	States []string `json:"states,omitempty"`
	// ImageCount replaces usage.image_count, and is billed. NoImageCount leaves it out; the real count is billed.
	ImageCount   *int `json:"image_count,omitempty"`
	NoImageCount bool `json:"no_image_count,omitempty"`
}
