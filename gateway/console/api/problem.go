package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"sluice/gateway/console/registry"
)

// Problem is why a request was refused, as RFC 9457 writes it.
type Problem struct {
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Code    string `json:"code"`              // for programs
	Field   string `json:"field,omitempty"`   // such as rates.tokens.per
	Given   string `json:"given,omitempty"`   // as far as it may be shown
	Allowed string `json:"allowed,omitempty"` // what is allowed in its place
	Advice  string `json:"advice,omitempty"`  // what to do
}

// outcome is the status and the code of an error.
type outcome struct {
	status int
	code   string
}

var kinds = map[registry.Kind]outcome{
	registry.Invalid:   {http.StatusBadRequest, "invalid"},
	registry.Missing:   {http.StatusNotFound, "missing"},
	registry.Forbidden: {http.StatusForbidden, "forbidden"},
	registry.Conflict:  {http.StatusConflict, "conflict"},
	registry.Lost:      {http.StatusPreconditionFailed, "lost"},
	registry.Away:      {http.StatusServiceUnavailable, "away"},
	registry.Often:     {http.StatusTooManyRequests, "attempts"},
	registry.Full:      {http.StatusTooManyRequests, "audit"},
}

// fault is an error of HTTP itself.
type fault struct {
	outcome
	text, advice string
}

func (f *fault) Error() string { return f.text }

var (
	errLogin    = &fault{outcome{http.StatusUnauthorized, "login"}, "no valid token", "send Authorization: Bearer with the console's token"}
	errNoPath   = &fault{outcome{http.StatusNotFound, "path"}, "there is no such path", "look at " + Prefix + "/openapi.json"}
	errNoMethod = &fault{outcome{http.StatusMethodNotAllowed, "method"}, "the path does not take this method", "look at the header Allow"}
	errMedia    = &fault{outcome{http.StatusUnsupportedMediaType, "media"}, "the body is not application/json", "send Content-Type: application/json"}
	errLarge    = &fault{outcome{http.StatusRequestEntityTooLarge, "large"}, "the body is too large; allowed: at most 256 KiB", ""}
	errNoMatch  = &fault{
		outcome{http.StatusPreconditionRequired, "if-match"}, "If-Match is missing", "send the ETag of the team as you read it, or * to replace any",
	}
)

// problemOf is an error as a client sees it.
func problemOf(err error) Problem {
	var http1 *fault
	var e *registry.Error
	switch {
	case errors.As(err, &http1):
		return Problem{http.StatusText(http1.status), http1.status, http1.text, http1.code, "", "", "", http1.advice}
	case errors.As(err, &e):
		o := kinds[e.Kind]
		return Problem{http.StatusText(o.status), o.status, e.Text, o.code, e.Field, e.Given, e.Allowed, e.Advice}
	}
	const status = http.StatusInternalServerError
	return Problem{Title: http.StatusText(status), Status: status, Detail: "an error of Sluice", Code: "internal", Advice: "look at the log"}
}

// refuse answers with a problem, and logs the cause of one that is not the client's.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		cause := err
		if inner := errors.Unwrap(err); inner != nil {
			cause = inner
		}
		a.Log.Error("console", "method", r.Method, "error", cause.Error())
	}
	if e := (*registry.Error)(nil); errors.As(err, &e) && e.Wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(e.Wait.Seconds()), 'f', 0, 64))
	}
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	text, err := json.Marshal(p)
	if err != nil { // every field can be written
		text = nil
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n'))
}
