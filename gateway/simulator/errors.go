package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// refusal is an answer that is no result. Handlers return it as an error; one
// place writes it.
type refusal struct {
	status  int
	code    string
	message string
	usage   json.RawMessage // beside the error, or nil
	plain   bool            // never as a stream frame
	allow   string          // the Allow header of a 405
}

// Error makes a refusal an error.
func (r *refusal) Error() string {
	return fmt.Sprintf("%d %s: %s", r.status, r.code, r.message)
}

// errorBody is a refusal on the wire. Clients match `{"code":` literally, so
// code is the first member.
type errorBody struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	RequestID string          `json:"request_id"`
	Usage     json.RawMessage `json:"usage,omitempty"`
}

func (r *refusal) body(requestID string) errorBody {
	return errorBody{Code: r.code, Message: r.message, RequestID: requestID, Usage: r.usage}
}

// asRefusal turns any error into something a client may read.
func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return &refusal{status: http.StatusInternalServerError, code: "InternalError", message: "An internal error has occurred."}
}

// invalid is the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, code: "InvalidParameter", message: fmt.Sprintf(format, args...)}
}
