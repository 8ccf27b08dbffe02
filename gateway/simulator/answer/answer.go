// Package answer holds the service's answers: what has been decided, what it costs, and its JSON forms.
//
// It does not send them: package wire does.
package answer

import "iter"

// LeakMark is part of the value of every response header that tells about the account.
const LeakMark = "account-secret-4711"

// Answer is one answer of the service. One of Doc, Frames and Raw is set.
type Answer struct {
	Doc         any             // JSON: a *Reply, or another type, which no fault changes
	Frames      iter.Seq[Frame] // a stream
	Raw         []byte          // bytes of the media type ContentType
	ContentType string          // empty is JSON

	Work  bool   // something was made: the request counts as executed
	Model string // to bill
	Cost  Cost   // of the whole answer
	Ended func() // called when a stream is over, however it ended; nil does nothing
}

// Frame is one event of a stream, with the cost up to it.
type Frame struct {
	Reply Reply
	Spent Cost
	Last  bool
}

// Cost is the cost of one piece of work, in tokens and images.
type Cost struct {
	Input, Output, Images int64
}

// Style is the form of answers.
type Style struct {
	RequestID   string
	FrameTokens int  // tokens that one frame of a stream adds
	NullFinish  bool // an unfinished frame's finish_reason is null, not "null"
}

// Unfinished is the finish_reason of a stream that goes on.
func (st Style) Unfinished() *string {
	if st.NullFinish {
		return nil
	}
	return new("null")
}
