package simulator

import (
	"net/http"

	"sluice/gateway/simulator/answer"
)

// Refusals of the service that do not depend on the request.
var (
	errKey       = &answer.Refusal{Status: http.StatusUnauthorized, Code: "InvalidApiKey", Message: "Invalid API-key provided.", Plain: true}
	errNotFound  = &answer.Refusal{Status: http.StatusNotFound, Code: "NotFound", Message: "The requested path does not exist.", Plain: true}
	errTooLarge  = &answer.Refusal{Status: http.StatusRequestEntityTooLarge, Code: "BadRequest.TooLarge", Message: "The request body is too large.", Plain: true}
	errMedia     = &answer.Refusal{Status: http.StatusUnsupportedMediaType, Code: "InvalidParameter", Message: "Content-Type must be application/json."}
	errBody      = &answer.Refusal{Status: http.StatusBadRequest, Code: "InvalidParameter", Message: "Required body invalid, please check the request body format."}
	errRate      = &answer.Refusal{Status: http.StatusTooManyRequests, Code: "Throttling.RateQuota", Message: "Requests rate limit exceeded, please try again later."}
	errNotQueued = &answer.Refusal{Status: http.StatusBadRequest, Code: "UnsupportedOperation", Message: "Failed to cancel the task, please confirm if the task is in PENDING status."}
	errPicture   = &answer.Refusal{Status: http.StatusForbidden, Code: "AccessDenied", Message: "Request has expired or its signature does not match.", Plain: true}
)
