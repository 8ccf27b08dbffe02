package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Refusal is an answer without a result. It is an error, so that any stage can return it.
type Refusal struct {
	Status  int
	Code    string
	Message string
	Usage   json.RawMessage // beside the error, or nil
	Plain   bool            // never as a stream frame
	Allow   string          // the Allow header of a 405
}

// Error makes a refusal an error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Message)
}

// Body is a refusal on the wire.
type Body struct {
	Code      string          `json:"code"` // first: clients match `{"code":` literally
	Message   string          `json:"message"`
	RequestID string          `json:"request_id"`
	Usage     json.RawMessage `json:"usage,omitempty"`
}

// Body returns the refusal of the request with that id as it is sent.
func (r *Refusal) Body(requestID string) Body {
	return Body{Code: r.Code, Message: r.Message, RequestID: requestID, Usage: r.Usage}
}

// AsRefusal turns any error into one that a client may read.
func AsRefusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Status: http.StatusInternalServerError, Code: "InternalError", Message: "An internal error has occurred."}
}

// Invalid is the refusal of a request that breaks a rule.
func Invalid(format string, args ...any) error {
	return &Refusal{Status: http.StatusBadRequest, Code: "InvalidParameter", Message: fmt.Sprintf(format, args...)}
}
