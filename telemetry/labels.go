package telemetry

import (
	"net/http"
	"strconv"
)

// statusClientLeft is the status of a request whose client left before the answer.
const statusClientLeft = 499

// statusLabel keeps the statuses that HTTP has a name for, and 499; others are rounded down to the hundred. The service may answer
// any number, and every one would be a series.
func statusLabel(status int) int {
	if status == statusClientLeft || http.StatusText(status) != "" {
		return status
	}
	return status / 100 * 100
}

// failure is error.type of an answer, from a closed set: a refusal's name, or the status; "" for a success.
func failure(refusal string, status int) string {
	switch {
	case refusal != "":
		return refusal
	case status >= http.StatusBadRequest:
		return strconv.Itoa(statusLabel(status))
	}
	return ""
}

// methodLabel keeps the methods that are served; a client may send any word.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return method
	}
	return "_OTHER"
}
