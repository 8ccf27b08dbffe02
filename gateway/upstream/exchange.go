package upstream

import (
	"context"
	"time"
)

// Exchange is one request to the service and what is known of its answer. It serves one call of [Client.Do].
type Exchange struct {
	// What the caller says of the request.

	Body     []byte          // the request's whole body
	Sent     time.Time       // when the exchange begins
	Client   context.Context // ends when the client has left; then the answer is read for a while, and dropped
	Uncut    bool            // the answer is read to its end, whoever has left
	Limit    time.Duration   // of the wait for the answer's header, and of the reading of its body; 0: the Client's, and none
	Listener Listener

	// What is known of the answer so far.

	Reached bool          // a byte of the request has left
	Waited  time.Duration // for the service
	Arrived time.Time     // when bytes came last, at first those of the header
	Whole   bool          // the answer was read to its end
	Clean   bool          // and that end cannot be a cut
	Fault   error         // why the reading of the body failed, an [*Error]; nil: it did not
	Wanted  bool          // somebody still wanted the answer when that happened

	body body
}

// Listener follows an exchange.
type Listener interface {
	// Runs is told that the exchange goes on: before a large piece of the request is written, and before the answer is waited
	// for. Both may be at once.
	Runs(now time.Time)
	// Heard is told each piece of the answer's body as it comes, which it MUST NOT keep.
	Heard(piece []byte)
	// Ended is told once that the body was closed.
	Ended()
}

// Abandon gives the answer up without reading what is left of it. It may be called more than once.
func (x *Exchange) Abandon() { x.body.abandon() }
