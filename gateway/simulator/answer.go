package simulator

import "iter"

// answer is what the service has decided to say: one of doc, frames and raw.
type answer struct {
	doc         any             // a JSON body: *reply, or another type that faults leave alone
	frames      iter.Seq[frame] // a stream
	raw         []byte          // bytes of the media type contentType
	contentType string

	work  bool   // something was made: counts as executed
	model string // to bill
	cost  cost   // of all of it; a stream's frames tell the way there
	ended func() // called when a stream is over, however it ended
}

// frame is one event of a stream with what has been spent up to it.
type frame struct {
	reply reply
	spent cost
	last  bool
}

// cost is what one piece of work takes.
type cost struct {
	input, output, images int64
}

// style is how answers are told.
type style struct {
	requestID   string
	frameTokens int  // tokens that a stream's frame adds
	nullFinish  bool // see Config
}

// unfinished is the finish_reason of a stream that goes on.
func (st style) unfinished() *string {
	if st.nullFinish {
		return nil
	}
	return new("null")
}

// leakMark is part of the value of every response header that tells about
// the account. A gateway must let none of them through.
const leakMark = "account-secret-4711"
