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

// Refusals without a variable part.
var (
	errKey       = &refusal{status: http.StatusUnauthorized, code: "InvalidApiKey", message: "Invalid API-key provided.", plain: true}
	errNotFound  = &refusal{status: http.StatusNotFound, code: "NotFound", message: "The requested path does not exist.", plain: true}
	errTooLarge  = &refusal{status: http.StatusRequestEntityTooLarge, code: "BadRequest.TooLarge", message: "The request body is too large.", plain: true}
	errMedia     = &refusal{status: http.StatusUnsupportedMediaType, code: "InvalidParameter", message: "Content-Type must be application/json."}
	errBody      = &refusal{status: http.StatusBadRequest, code: "InvalidParameter", message: "Required body invalid, please check the request body format."}
	errNeedAsync = &refusal{status: http.StatusForbidden, code: "AccessDenied", message: "current user api does not support synchronous calls."}
	errNoAsync   = &refusal{status: http.StatusForbidden, code: "AccessDenied", message: "current user api does not support asynchronous calls."}
	errRate      = &refusal{status: http.StatusTooManyRequests, code: "Throttling.RateQuota", message: "Requests rate limit exceeded, please try again later."}
	errNotQueued = &refusal{status: http.StatusBadRequest, code: "UnsupportedOperation", message: "Failed to cancel the task, please confirm if the task is in PENDING status."}
	errPicture   = &refusal{status: http.StatusForbidden, code: "AccessDenied", message: "Request has expired or its signature does not match.", plain: true}
)

// codes names the error of a fault that gives only a status.
var codes = map[int]string{
	http.StatusBadRequest:            "InvalidParameter",
	http.StatusUnauthorized:          "InvalidApiKey",
	http.StatusForbidden:             "AccessDenied",
	http.StatusNotFound:              "ModelNotFound",
	http.StatusRequestEntityTooLarge: "BadRequest.TooLarge",
	http.StatusUnsupportedMediaType:  "InvalidParameter",
	http.StatusTooManyRequests:       "Throttling.RateQuota",
	http.StatusInternalServerError:   "InternalError",
	http.StatusServiceUnavailable:    "ModelUnavailable",
}

// refusal is the fault's error as it is answered.
func (e *FaultError) refusal() *refusal {
	r := &refusal{status: e.Status, code: e.Code, message: e.Message, usage: e.Usage, plain: e.Plain}
	if r.status == 0 {
		r.status = http.StatusInternalServerError
	}
	if r.code == "" {
		r.code = codes[r.status]
	}
	if r.code == "" {
		r.code = "InternalError"
	}
	if r.message == "" {
		r.message = "This failure was asked for."
	}
	return r
}
