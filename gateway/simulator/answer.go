package simulator

import (
	"bytes"
	"encoding/json"
	"iter"
)

// answer is what a handler decided; send acts it out.
type answer struct {
	doc         any             // a JSON body: *reply, or another type that faults leave alone
	frames      iter.Seq[frame] // or a stream
	raw         []byte          // or bytes of the media type contentType
	contentType string

	work  bool   // something was made: counts as executed
	model string // to bill
	cost  cost   // of all of it; a stream's frames tell the way there
	ended func() // called when a stream is over, however it ended
}

// reply is a result on the wire. Code and Message are those of a failed task;
// a success has none.
type reply struct {
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Output    any    `json:"output,omitempty"`
	Usage     any    `json:"usage,omitempty"`
	RequestID string `json:"request_id"`
	Padding   string `json:"padding,omitempty"`
}

// frame is one event of a stream with what has been spent up to it.
type frame struct {
	reply reply
	spent cost
	last  bool
}

// encode writes v as compact JSON without the escapes for HTML, as the
// service does, and with a newline at the end.
func encode(buf *bytes.Buffer, v any) {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("simulator: answer cannot be encoded: " + err.Error())
	}
}

// spoil applies the faults that change what a reply says; i is the number of
// the frame.
func (f *Fault) spoil(r *reply, i int) {
	if f.PadBytes > 0 {
		r.Padding = string(bytes.Repeat([]byte("x"), f.PadBytes))
	}
	switch {
	case f.NoUsage:
		r.Usage = nil
	case len(f.Usage) > 0:
		r.Usage = f.Usage[min(i, len(f.Usage)-1)]
	}
}
