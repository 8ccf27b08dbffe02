package simulator

import "net/http"

// The service's refusals of what it does not come to judge.
var (
	errKey       = &refusal{status: http.StatusUnauthorized, code: "InvalidApiKey", message: "Invalid API-key provided.", plain: true}
	errNotFound  = &refusal{status: http.StatusNotFound, code: "NotFound", message: "The requested path does not exist.", plain: true}
	errTooLarge  = &refusal{status: http.StatusRequestEntityTooLarge, code: "BadRequest.TooLarge", message: "The request body is too large.", plain: true}
	errMedia     = &refusal{status: http.StatusUnsupportedMediaType, code: "InvalidParameter", message: "Content-Type must be application/json."}
	errBody      = &refusal{status: http.StatusBadRequest, code: "InvalidParameter", message: "Required body invalid, please check the request body format."}
	errRate      = &refusal{status: http.StatusTooManyRequests, code: "Throttling.RateQuota", message: "Requests rate limit exceeded, please try again later."}
	errNotQueued = &refusal{status: http.StatusBadRequest, code: "UnsupportedOperation", message: "Failed to cancel the task, please confirm if the task is in PENDING status."}
	errPicture   = &refusal{status: http.StatusForbidden, code: "AccessDenied", message: "Request has expired or its signature does not match.", plain: true}
)
