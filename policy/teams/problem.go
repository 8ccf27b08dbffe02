package teams

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"sluice/policy/strictyaml"
)

// Code is the machine-readable reason of a refusal. Package gateway/console has the HTTP status of each.
type Code string

// The codes of decisions about teams.
const (
	CodeInvalid   Code = "invalid"   // the request is faulty
	CodeMissing   Code = "missing"   // the team, key or task does not exist, or is not the person's
	CodeForbidden Code = "forbidden" // the person may look, but not change
	CodeConflict  Code = "conflict"  // the content forbids the change
	CodeLost      Code = "lost"      // another change was faster: the ETag is no longer the team's
	CodeAway      Code = "away"      // the directory or the accounts cannot be reached
	CodeOften     Code = "attempts"  // the members of the team have changed too much recently
	CodeUnfit     Code = "unfit"     // the request is well formed, and a value in it does not fit the team or the moment
	CodeFull      Code = "audit"     // the entries of the team have filled its part of the audit for the day
)

// Problem is the reason of a refusal, from where it is found to the page or the answer that shows it. No field that is shown
// contains a secret or an unknown id.
type Problem struct {
	Text    string        `json:"detail"` // the problem in words: a clause without a full stop
	Code    Code          `json:"code"`
	Field   string        `json:"field,omitempty"`   // such as "rates.tokens.per"; empty if the problem is not in one field
	Given   string        `json:"given,omitempty"`   // as far as it may be shown
	Allowed string        `json:"allowed,omitempty"` // what is allowed in its place
	Advice  string        `json:"advice,omitempty"`  // what to do
	Wait    time.Duration `json:"-"`                 // after which the same may be tried again; 0: unknown
	Cause   error         `json:"-"`                 // only for the log
}

// Error renders the problem on one line.
func (p *Problem) Error() string {
	text := p.Text
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	if p.Given != "" && !strings.Contains(text, p.Given) {
		text += "; got " + p.Given
	}
	if p.Allowed != "" && !strings.Contains(text, p.Allowed) {
		text += "; allowed: " + p.Allowed
	}
	if p.Advice != "" {
		text += "; " + p.Advice
	}
	return text
}

// Unwrap returns the cause, which is only for the log, if there is one.
func (p *Problem) Unwrap() error { return p.Cause }

// Away is the problem of something that cannot be reached.
func Away(text string, cause error) *Problem {
	return &Problem{Code: CodeAway, Text: text, Advice: "try again", Cause: cause}
}

// notAllowed is the problem of a value in a field.
func notAllowed(code Code, field, given, allowed, advice string) *Problem {
	return &Problem{Code: code, Field: field, Text: "got " + given + ", allowed: " + allowed, Given: given, Allowed: allowed, Advice: advice}
}

// problemOf is the first fault of a document that a change would make.
func problemOf(err error) *Problem {
	var all strictyaml.Faults
	if !errors.As(err, &all) || len(all) == 0 {
		return &Problem{Code: CodeInvalid, Text: err.Error()}
	}
	first := all[0]
	field := teamPath.ReplaceAllString(first.Field, "")
	return &Problem{Code: CodeInvalid, Field: field, Text: first.Detail(), Given: first.Given, Allowed: first.Allowed}
}

// teamPath is the path of a team in the document, and of a key in its team: places that a client does not see.
var teamPath = regexp.MustCompile(`^teams\[[0-9]+\]\.?(keys\[[0-9]+\]\.)?`)

var plainID = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// shownID is an id for a problem. A text of another form may be a secret in the wrong place.
func shownID(id string) string {
	if !plainID.MatchString(id) {
		return "[hidden]"
	}
	return id
}

func noJSON(name string) error {
	if !memberName.MatchString(name) {
		name = "[hidden]"
	}
	return &Problem{Code: CodeInvalid, Field: name, Text: "got no JSON"}
}

// treeOf reads a value, with its numbers as they are.
func treeOf(value json.RawMessage) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err = d.Decode(&tree); err == nil && !json.Valid(value) {
		err = errors.New("more than one value")
	}
	return tree, err
}

var memberName = regexp.MustCompile(`^[a-z_]{1,32}$`)
