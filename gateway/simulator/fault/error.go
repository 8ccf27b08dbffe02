package fault

import (
	"net/http"

	"sluice/gateway/simulator/answer"
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

// Refusal is the fault's error as it is answered.
func (e *Error) Refusal() *answer.Refusal {
	r := &answer.Refusal{Status: e.Status, Code: e.Code, Message: e.Message, Usage: e.Usage, Plain: e.Plain}
	if r.Status == 0 {
		r.Status = http.StatusInternalServerError
	}
	if r.Code == "" {
		r.Code = codes[r.Status]
	}
	if r.Code == "" {
		r.Code = "InternalError"
	}
	if r.Message == "" {
		r.Message = "This failure was asked for."
	}
	return r
}
