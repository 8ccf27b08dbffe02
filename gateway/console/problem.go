package console

import (
	"encoding/json"
	"errors"
	"net/http"

	"sluice/policy/teams"
)

// The codes of faults in the HTTP request itself, in addition to those of package teams.
const (
	CodeLogin    teams.Code = "login"    // unauthenticated
	CodePath     teams.Code = "path"     // there is no such path
	CodeMethod   teams.Code = "method"   // the path does not take the method
	codeMedia    teams.Code = "media"    // the body is not JSON
	CodeLarge    teams.Code = "large"    // the body is too large
	CodeHost     teams.Code = "host"     // the host name is not the console's
	codeNoMatch  teams.Code = "if-match" // If-Match is missing
	codeInternal teams.Code = "internal" // an error of Sluice
)

// statuses are the statuses of all codes, in answers and on pages.
var statuses = map[teams.Code]int{
	teams.CodeInvalid: http.StatusBadRequest, CodeLogin: http.StatusUnauthorized, teams.CodeForbidden: http.StatusForbidden,
	teams.CodeMissing: http.StatusNotFound, CodePath: http.StatusNotFound, CodeMethod: http.StatusMethodNotAllowed,
	teams.CodeConflict: http.StatusConflict, teams.CodeLost: http.StatusPreconditionFailed, CodeLarge: http.StatusRequestEntityTooLarge,
	codeMedia: http.StatusUnsupportedMediaType, codeNoMatch: http.StatusPreconditionRequired, teams.CodeOften: http.StatusTooManyRequests,
	teams.CodeFull: http.StatusTooManyRequests, CodeHost: http.StatusMisdirectedRequest, codeInternal: http.StatusInternalServerError,
	teams.CodeAway: http.StatusServiceUnavailable, teams.CodeUnfit: http.StatusUnprocessableEntity,
}

// Status returns the HTTP status of a code.
func Status(code teams.Code) int { return statuses[code] }

// invalid returns the problem of a faulty request.
func invalid(field, text, allowed string) *teams.Problem {
	return &teams.Problem{Code: teams.CodeInvalid, Field: field, Text: text, Allowed: allowed}
}

var (
	errMedia   = &teams.Problem{Code: codeMedia, Text: "the body is not application/json", Advice: "send Content-Type: application/json"}
	errLarge   = &teams.Problem{Code: CodeLarge, Text: "the body is too large; allowed: at most 256 KiB"}
	errNoMatch = &teams.Problem{
		Code: codeNoMatch, Text: "If-Match is missing", Advice: "send the ETag of the team as you read it, or * to replace any",
	}
)

// Document is a problem document of RFC 9457.
type Document struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	teams.Problem
}

// documentOf returns the document of an error. An error that is not a problem is an internal error.
func documentOf(err error) Document {
	problem := (*teams.Problem)(nil)
	if !errors.As(err, &problem) {
		problem = &teams.Problem{Code: codeInternal, Text: "an error of Sluice", Advice: "look at the log", Cause: err}
	}
	status := Status(problem.Code)
	return Document{http.StatusText(status), status, *problem}
}

// Write answers with the document.
func (d Document) Write(w http.ResponseWriter) {
	text, err := json.Marshal(d)
	if err != nil { // cannot happen: every field can be encoded
		text = nil
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(d.Status)
	_, _ = w.Write(append(text, '\n'))
}
