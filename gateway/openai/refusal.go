package openai

import "fmt"

// Refusal is an answer that is no success, in OpenAI's terms.
type Refusal struct {
	Status  int    // of HTTP
	Code    string // the service's; empty: null
	Message string
	Param   string // the member of the client's request that is at fault; empty: null
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// The service's codes for what this package refuses on its own.
const (
	codeRequest = "InvalidParameter"
	codeAnswer  = "InternalError"
	codeQuota   = "Throttling.AllocationQuota"
)

// badRequest refuses a request for one of its members; empty: for the whole of it.
func badRequest(param, format string, args ...any) *Refusal {
	return &Refusal{Status: 400, Code: codeRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// errAnswer is the refusal after an answer of the service that cannot be read.
var errAnswer = &Refusal{Status: 502, Code: codeAnswer, Message: "The service's answer could not be read."}

// ReadRefusal reads the service's body {"code","message","request_id"} of an answer with this status. A body of another form
// gives a Refusal with the status alone.
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

// text is what a value spells, otherwise the second argument where it is no string or an empty one.
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

// errorType is OpenAI's word for a status.
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

// errorCode is the service's code, but for a quota: OpenAI's clients tell it from a rate by this word.
func errorCode(code string) string {
	if code == codeQuota {
		return "insufficient_quota"
	}
	return code
}
