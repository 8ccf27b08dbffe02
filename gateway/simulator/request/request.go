// Package request reads what a request to a model says. It does not judge it: package rules does.
package request

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Request is a request to a model.
type Request struct {
	Model string
	Body  Object // nil until Parse
	SSE   bool   // wants a stream
	Async bool   // wants a task
}

// ReadSwitches reads the headers that say whether a client wants a stream or a task. prefix is that of the service's own headers.
func ReadSwitches(h http.Header, prefix string) Request {
	// Any word but enable, such as disable, means absent.
	enabled := func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(h.Get(prefix+name)), "enable")
	}
	return Request{
		SSE:   enabled("SSE") || strings.Contains(strings.ToLower(h.Get("Accept")), "text/event-stream"),
		Async: enabled("Async"),
	}
}

var errNoObject = errors.New("body is not a JSON object")

// Parse reads the body, which must be a JSON object. Of a member named twice the last one counts, which is why a
// gateway must not let such a body through.
func (q *Request) Parse(body []byte) error {
	if err := json.Unmarshal(body, &q.Body); err != nil || q.Body == nil {
		return errNoObject
	}
	q.Model = q.Body.Text("model")
	return nil
}

// Input is the body's member of that name.
func (q *Request) Input() Object { return q.Body.Child("input") }

// Parameters is the body's member of that name.
func (q *Request) Parameters() Object { return q.Body.Child("parameters") }
