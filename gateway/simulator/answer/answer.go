// Package answer holds the service's answers: what has been decided, what it costs, and its JSON forms.
//
// It is not the connection: package wire sends answers.
package answer

import "iter"

// Answer is what the service has decided to say: one of doc, frames and raw.
type Answer struct {
	Doc         any             // a JSON body: *reply, or another type that faults leave alone
	Frames      iter.Seq[Frame] // a stream
	Raw         []byte          // bytes of the media type contentType
	ContentType string

	Work  bool   // something was made: counts as executed
	Model string // to bill
	Cost  Cost   // of all of it; a stream's frames tell the way there
	Ended func() // called when a stream is over, however it ended
}

// Frame is one event of a stream with what has been spent up to it.
type Frame struct {
	Reply Reply
	Spent Cost
	Last  bool
}

// Cost is what one piece of work takes.
type Cost struct {
	Input, Output, Images int64
}

// Style is how answers are told.
type Style struct {
	RequestID   string
	FrameTokens int  // tokens that a stream's frame adds
	NullFinish  bool // see Config
}

// Unfinished is the finish_reason of a stream that goes on.
func (st Style) Unfinished() *string {
	if st.NullFinish {
		return nil
	}
	return new("null")
}

// LeakMark is part of the value of every response header that tells about the account. A gateway must let none of them
// through.
const LeakMark = "account-secret-4711"
