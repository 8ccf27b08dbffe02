package openai

import (
	"fmt"
	"strings"
)

// Refusal is an error for the client, in OpenAI's terms.
type Refusal struct {
	Status  int    // of HTTP
	Code    string // the service's; empty: null
	Message string
	Param   string // the faulty member of the client's request; empty: null
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Codes of the service that this package uses.
const (
	codeRequest = "InvalidParameter"
	codeAnswer  = "InternalError"
	codeQuota   = "Throttling.AllocationQuota"
)

// badRequest refuses a request because of a member; an empty param blames the request as a whole.
func badRequest(param, format string, args ...any) *Refusal {
	return &Refusal{Status: 400, Code: codeRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// unreadable is the refusal for an answer of the service that cannot be read.
func unreadable() *Refusal {
	return &Refusal{Status: 502, Code: codeAnswer, Message: "The service's answer could not be read."}
}

// ReadRefusal reads the service's error {"code","message","request_id"}, answered with this status. If the body has another form,
// the Refusal has only the status.
func ReadRefusal(status int, body []byte) *Refusal {
	r := &Refusal{Status: status, Message: fmt.Sprintf("The service answered with status %d.", status)}
	native, ok := readAnswer(body)
	if !ok {
		return r
	}
	for o := opened(native, '{'); o.Member(); {
		switch string(o.Name) {
		case "code":
			r.Code = text(o.Value(), r.Code)
		case "message":
			r.Message = text(o.Value(), r.Message)
		}
	}
	return r
}

// AppendError appends {"error":{"message","type","param","code"}}.
func AppendError(dst []byte, r *Refusal) []byte {
	return append(r.append(append(dst, `{"error":`...)), '}')
}

func (r *Refusal) append(dst []byte) []byte {
	dst = quoted(append(dst, `{"message":`...), r.Message)
	dst = quoted(append(dst, `,"type":`...), errorType(r.Status))
	dst = orNull(append(dst, `,"param":`...), r.Param)
	dst = orNull(append(dst, `,"code":`...), errorCode(r.Code))
	return append(dst, '}')
}

func orNull(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return quoted(dst, text)
}

// errorType is OpenAI's error type for a status.
func errorType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 404:
		return "not_found_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// errorCode is the service's code. Exhausted quotas get OpenAI's code, by which clients distinguish them from rate limits.
func errorCode(code string) string {
	if code == codeQuota {
		return "insufficient_quota"
	}
	return code
}

// ChatParam returns the member of a chat request that was translated to a field of the service's request, such as
// input.messages[2].content[0].image or parameters.top_p. It is empty if there is none, as for a header.
func ChatParam(field string) string {
	switch {
	case field == "parameters.incremental_output", field == "parameters.stream":
		return "stream"
	case field == "model":
		return field
	}
	if name, ok := strings.CutPrefix(field, "parameters."); ok {
		return name
	}
	name, ok := strings.CutPrefix(field, "input.")
	if !ok || !strings.HasPrefix(name, "messages") {
		return ""
	}
	if place, ok := strings.CutSuffix(name, ".image"); ok {
		return place + ".image_url"
	}
	return name
}

// ImageParam is [ChatParam] for image requests.
func ImageParam(field string) string {
	if field == "model" {
		return field
	}
	if name, ok := strings.CutPrefix(field, "parameters."); ok {
		return name
	}
	switch {
	case !strings.HasPrefix(field, "input."):
		return ""
	case strings.Contains(field, ".image"), strings.HasSuffix(field, ".content"): // of the items of the content, only the images vary
		return "image"
	}
	return "prompt"
}
