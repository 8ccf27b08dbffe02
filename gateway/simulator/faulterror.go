package simulator

import "net/http"

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
