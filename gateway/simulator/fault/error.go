package fault

import (
	"cmp"
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

// Refusal is the error as it is answered.
func (e *Error) Refusal() *answer.Refusal {
	status := cmp.Or(e.Status, http.StatusInternalServerError)
	return &answer.Refusal{
		Status: status, Code: cmp.Or(e.Code, codes[status], "InternalError"),
		Message: cmp.Or(e.Message, "This failure was asked for."), Usage: e.Usage, Plain: e.Plain,
	}
}
