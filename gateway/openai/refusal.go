package openai

import "fmt"

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

// ReadRefusal reads the service's error {"code","message","request_id"}, answered with this status. If the body has another
// form, the Refusal tells the status only.
func ReadRefusal(status int, body []byte) *Refusal {
	r := &Refusal{Status: status, Message: fmt.Sprintf("The service answered with status %d.", status)}
	object, ok := readAnswer(body)
	if !ok {
		return r
	}
	for w := walkObject(object); w.member(); {
		switch string(w.name) {
		case "code":
			r.Code = text(w.value, r.Code)
		case "message":
			r.Message = text(w.value, r.Message)
		}
	}
	return r
}

// text decodes a string. For an empty one and for other values it returns otherwise.
func text(value []byte, otherwise string) string {
	if !isString(value) || len(value) == 2 {
		return otherwise
	}
	return string(decoded(value))
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

// errorCode is the service's code. Exhausted quotas get OpenAI's code: clients tell them from rate limits by it.
func errorCode(code string) string {
	if code == codeQuota {
		return "insufficient_quota"
	}
	return code
}
