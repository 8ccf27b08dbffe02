package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Refusal is an answer that is no result. Handlers return it as an error; one place writes it.
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

// errorBody is a refusal on the wire. Clients match `{"code":` literally, so code is the first member.
type errorBody struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	RequestID string          `json:"request_id"`
	Usage     json.RawMessage `json:"usage,omitempty"`
}

func (r *Refusal) Body(requestID string) errorBody {
	return errorBody{Code: r.Code, Message: r.Message, RequestID: requestID, Usage: r.Usage}
}

// AsRefusal turns any error into something a client may read.
func AsRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return &Refusal{Status: http.StatusInternalServerError, Code: "InternalError", Message: "An internal error has occurred."}
}

// Invalid is the refusal of a request that breaks a rule.
func Invalid(format string, args ...any) error {
	return &Refusal{Status: http.StatusBadRequest, Code: "InvalidParameter", Message: fmt.Sprintf(format, args...)}
}
