package simulator

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// request is what a request to a model says.
type request struct {
	model string
	body  object // nil before the body is parsed
	sse   bool   // asks for a stream
	async bool   // asks for a task
}

// readSwitches reads the headers that ask for a stream or a task. prefix is
// that of the service's own headers.
func readSwitches(h http.Header, prefix string) request {
	// Any word but enable means absent, disable among them.
	asks := func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(h.Get(prefix+name)), "enable")
	}
	return request{
		sse:   asks("SSE") || strings.Contains(strings.ToLower(h.Get("Accept")), "text/event-stream"),
		async: asks("Async"),
	}
}

// errNoObject is a body that is no JSON object.
var errNoObject = errors.New("body is not a JSON object")

// parse reads the body. Of a member named twice the last one counts, which is
// why a gateway must not let such a body through.
func (q *request) parse(raw []byte) error {
	if err := json.Unmarshal(raw, &q.body); err != nil || q.body == nil {
		return errNoObject
	}
	q.model = q.body.text("model")
	return nil
}

// input is the body's member of that name.
func (q *request) input() object { return q.body.child("input") }

// parameters is the body's member of that name.
func (q *request) parameters() object { return q.body.child("parameters") }
