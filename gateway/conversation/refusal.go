package conversation

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"sluice/gateway/rawjson"
)

// Refusal is an error for the client. A dialect writes it in the client's form.
type Refusal struct {
	Status  int    // of HTTP
	Code    string // the service's; empty: none
	Message string
	Param   string // the faulty member of the client's request; empty: none
	Told    bool   // the service says so: its answer has nothing more to say
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Codes of the service.
const (
	CodeRequest = "InvalidParameter"
	CodeAnswer  = "InternalError"
	CodeQuota   = "Throttling.AllocationQuota"
)

// BadRequest refuses a request because of a member; an empty param blames the request as a whole.
func BadRequest(param, format string, args ...any) *Refusal {
	return &Refusal{Status: 400, Code: CodeRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Unreadable is the refusal for an answer of the service that cannot be read.
func Unreadable() *Refusal {
	return &Refusal{Status: 502, Code: CodeAnswer, Message: "The service's answer could not be read."}
}

// ReadRefusal reads the service's error {"code","message","request_id"}, answered with this status; 0: inside a success. If the body has
// another form, the Refusal has only the status.
func ReadRefusal(status int, body []byte) *Refusal {
	r := &Refusal{Status: status, Told: true, Message: fmt.Sprintf("The service answered with status %d.", cmp.Or(status, 500))}
	native, ok := ReadObject(body)
	for o := rawjson.Object(native); ok && o.Member(); {
		switch string(o.Name) {
		case "code":
			r.Code = rawjson.Text(o.Value(), r.Code)
		case "message":
			r.Message = rawjson.Text(o.Value(), r.Message)
		}
	}
	if status == 0 {
		r.Status = StatusOf(r.Code)
	}
	return r
}

// StatusOf is the status of an error that the service reports inside a success: 400 if the code blames the request, so that no library
// repeats it, and otherwise 500.
func StatusOf(code string) int {
	for _, word := range [...]string{CodeRequest, "BadRequest", "DataInspection"} {
		if strings.HasPrefix(code, word) {
			return 400
		}
	}
	return 500
}

// Failed returns the error that the service reports in place of an answer; nil: it reports none.
func Failed(answer []byte) *Refusal {
	if rawjson.Kind(rawjson.Find(answer, "output")) == '{' || rawjson.Text(rawjson.Find(answer, "code"), "") == "" {
		return nil
	}
	return ReadRefusal(0, answer)
}

// Kind is the dialects' word for the kind of the error, by its status. server is the dialect's word for an error of the server.
func (r *Refusal) Kind(server string) string {
	switch {
	case r.Status == 401:
		return "authentication_error"
	case r.Status == 403:
		return "permission_error"
	case r.Status == 404:
		return "not_found_error"
	case r.Status == 429:
		return "rate_limit_error"
	case r.Status >= 500:
		return server
	}
	return "invalid_request_error"
}

// Warnings are values of Sluice-Warning.
type Warnings []string

// Add adds a warning, unless it is empty.
func (w *Warnings) Add(warning string) {
	if warning != "" {
		*w = append(*w, warning)
	}
}

// Param is the client's name for the beginning of a field of the service's request, such as input.messages or parameters.stop, and the
// rest of the field. A parameter that is not among the names keeps its own; any other field has none.
func Param(field string, names map[string]string) (name, rest string) {
	group, inner, inside := strings.Cut(field, ".")
	first := inner[:len(inner)-len(strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyz_"))]
	known, ok := names[group]
	if inside {
		known, ok = names[group+"."+first]
	}
	switch {
	case ok && known != "":
		return known, inner[len(first):]
	case !ok && inside && group == "parameters":
		return first, inner[len(first):]
	}
	return "", ""
}

// Within puts the place of an object before the member that a refusal names, and with which its message may begin.
func Within(place string, err error) error {
	r, ok := err.(*Refusal) //nolint:errorlint // the refusals of this package are never wrapped
	if !ok {
		return err
	}
	inner := r.Param
	if inner != "" && inner[0] != '[' {
		place += "."
	}
	r.Param = place + inner
	if quoted := strconv.Quote(inner); inner != "" && strings.HasPrefix(r.Message, inner) {
		r.Message = place + r.Message
	} else if strings.HasPrefix(r.Message, quoted) {
		r.Message = strconv.Quote(r.Param) + r.Message[len(quoted):]
	}
	return r
}
