// Package fault describes the ways in which the simulator misbehaves on demand.
//
// It decides which fault a request has. Package wire and package task act it out.
package fault

import (
	"encoding/json"
	"time"
)

// Fault is one way for the service to misbehave. The zero value is none, and members combine where that makes sense. A
// fault reaches the simulator by SetFault, by the JSON header X-Simulate, or by the request's own member
// parameters.simulate; the header wins over the body, the body over SetFault, and the winner stands alone. In JSON a
// name that is not listed here is refused, so that a mistyped test cannot pass.
type Fault struct {
	// On limits a fault of SetFault to one endpoint (one of the Endpoint words). Empty is every endpoint.
	On string `json:"on,omitempty"`
	// Skip and Times limit a fault of SetFault to the requests after the first Skip, and to Times of those. Times zero
	// is no limit.
	Skip  int `json:"skip,omitempty"`
	Times int `json:"times,omitempty"`

	// Delay passes before anything is answered. In JSON: delay_ms.
	Delay time.Duration `json:"-"`
	// HeaderDelay passes before every line of the response header, from the status line on. In JSON: header_delay_ms.
	HeaderDelay time.Duration `json:"-"`
	// FrameDelay replaces Config.FrameDelay where it is not zero. In JSON: frame_delay_ms.
	FrameDelay time.Duration `json:"-"`

	// Error is answered in place of a result.
	Error *Error `json:"error,omitempty"`
	// After is how many stream frames go out before Error, Cut or Stall happens. A plain JSON answer counts as one
	// frame of which the first half goes out if After is above zero.
	After int `json:"after,omitempty"`
	// Cut ends the answer there: "close" breaks the framing, "reset" does so with a TCP RST, "end" ends it as if it
	// were complete.
	Cut string `json:"cut,omitempty"`
	// Stall waits for Simulator.Release or the client's leaving: "before" any byte of the answer, behind the "headers",
	// or in the "body" after After frames.
	Stall string `json:"stall,omitempty"`
	// Drop ends the connection without a byte of answer, although the work was done and billed: "close" or "reset".
	Drop string `json:"drop,omitempty"`

	// Informational is how many 103 answers go before the real one.
	Informational int `json:"informational,omitempty"`
	// Upgrade answers 101 and then talks garbage.
	Upgrade bool `json:"upgrade,omitempty"`
	// Redirect answers 307 with this Location; nothing is executed.
	Redirect string `json:"redirect,omitempty"`
	// Endless never ends the body: a stream repeats itself, a plain answer goes on in blanks.
	Endless bool `json:"endless,omitempty"`
	// Gzip compresses the body although nobody asked.
	Gzip bool `json:"gzip,omitempty"`
	// Body is sent in place of the answer's bytes, with status 200.
	Body *string `json:"body,omitempty"`
	// ContentType replaces the answer's media type.
	ContentType string `json:"content_type,omitempty"`
	// Header holds more response headers.
	Header map[string]string `json:"header,omitempty"`
	// RetryAfter is the value of that header.
	RetryAfter string `json:"retry_after,omitempty"`

	// WriteBytes sends a stream in flushed pieces of this size, wherever they may fall. Zero sends whole frames.
	WriteBytes int `json:"write_bytes,omitempty"`
	// PadBytes adds an unknown member of this size to every frame, or to the plain answer.
	PadBytes int `json:"pad_bytes,omitempty"`

	// NoUsage leaves usage out everywhere.
	NoUsage bool `json:"no_usage,omitempty"`
	// Usage replaces usage: entry i that of frame i, the last entry that of all later ones. A plain answer takes the
	// first. Billing follows the truth, not this.
	Usage []json.RawMessage `json:"usage,omitempty"`
	// TaskID replaces the task id in the answer.
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
	// Usage, if any, is put into the body. Executed decides what is billed.
	Usage json.RawMessage `json:"usage,omitempty"`
	// Executed does the work first, and bills it: the answer is a lie.
	Executed bool `json:"executed,omitempty"`
	// Plain answers with Status even if a stream was asked for.
	Plain bool `json:"plain,omitempty"`
}

// Task is the fate of one task.
type Task struct {
	// Pending and Running replace the pace of Config if not nil. In JSON: pending_ms, running_ms.
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
	// States is what the queries see, one by one, in place of what the clock says; the last one stays.
	States []string `json:"states,omitempty"`
	// ImageCount replaces usage.image_count, and is billed. NoImageCount leaves it out and bills the truth.
	ImageCount   *int `json:"image_count,omitempty"`
	NoImageCount bool `json:"no_image_count,omitempty"`
}
