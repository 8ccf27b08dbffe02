package conversation

// Head is what all answers to one request begin with.
type Head struct {
	ID      string // the request's
	Created int64  // seconds of Unix time
	Model   string // as the client named it
}

// Dialect writes the answer to one request in the client's form. Its methods append to dst and MUST NOT keep their arguments
// beyond the call, except the Head.
type Dialect interface {
	// Begin gets what the answer begins with. It is called before all else, and again if the answer is written anew.
	Begin(head Head)
	// Delta writes what is new in a stream.
	Delta(dst []byte, news *Delta) []byte
	// Close writes the end of a stream that is whole.
	Close(dst []byte, usage *Usage) []byte
	// Fail writes the end of a stream that failed after its first Delta.
	Fail(dst []byte, refused *Refusal) []byte
	// Whole writes an answer that is no stream.
	Whole(dst []byte, answer *Answer) []byte
}

// Delta is what is new in a choice of a stream. nil means nothing new.
type Delta struct {
	Choice   int    // its index
	First    bool   // no Delta of the choice came before
	Calling  bool   // the frame has a call, whether or not that is new
	Thinking []byte // raw
	Text     []byte // raw; it follows the Thinking
	Calls    []CallDelta
	Finish   []byte // a raw string
	Logprobs []byte // a raw object, of the new text
	Usage    *Usage // the service's, so far
}

// CallDelta is what is new in a call of a tool: the next piece of its arguments, and its id and its name once. The Arguments follow
// those before.
type CallDelta struct {
	Call
	Index int // of the call in its choice
}

// Event begins an event of a stream whose data is an object with the event's name as its type.
func Event(dst []byte, name, rest string) []byte {
	dst = append(append(append(dst, "event: "...), name...), rest...)
	return append(append(append(append(dst, "\ndata: {\"type\":\""...), name...), rest...), '"')
}

// Whole appends an answer of the service that is no stream, in the client's form. If the answer is an error or cannot be read, it
// appends nothing and returns a [*Refusal].
func Whole(dst []byte, in Dialect, native []byte) ([]byte, error) {
	var a Answer
	switch ok := a.read(native); {
	case ok && a.failed():
		return dst, ReadRefusal(0, native)
	case !ok || len(a.Choices) == 0:
		return dst, Unreadable()
	}
	return in.Whole(dst, &a), nil
}
