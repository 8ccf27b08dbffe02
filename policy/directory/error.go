package directory

import (
	"errors"
	"regexp"

	"sluice/policy/teams"
)

// Kind is how a change failed.
type Kind int

// The kinds.
const (
	Invalid  Kind = iota // the change is faulty
	Missing              // the directory has no such team or key
	Conflict             // the directory's content forbids the change
	Full                 // the team's part of the audit is full for this day
)

// Error is why a change was refused. No field contains a secret.
type Error struct {
	Kind   Kind
	Field  string // the field, such as "rates.tokens.per"; empty if the error is not in one field
	Text   string // what was given and what is allowed
	Advice string // what to do; may be empty
}

// Error renders the error on one line.
func (e *Error) Error() string {
	text := e.Text
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// faulty is the error of a document that the strict reader refuses after a change.
func faulty(err error) error {
	var all teams.Faults
	if !errors.As(err, &all) || len(all) == 0 {
		return &Error{Kind: Invalid, Text: err.Error()}
	}
	first := all[0]
	return &Error{Kind: Invalid, Field: teamPath.ReplaceAllString(first.Field, ""), Text: first.Detail()}
}

// teamPath is where a team stands in the document, which a client does not see.
var teamPath = regexp.MustCompile(`^teams\[[0-9]+\]\.?`)

// shownName is a member's name for an error.
func shownName(name string) string {
	if !plainName.MatchString(name) {
		return "[hidden]"
	}
	return name
}

var plainName = regexp.MustCompile(`^[a-z_]{1,32}$`)

var plainID = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// shown is an id for an error. What has not the form of one may be a secret in the wrong place.
func shown(id string) string {
	if !plainID.MatchString(id) {
		return "[hidden]"
	}
	return id
}
