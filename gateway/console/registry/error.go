package registry

import (
	"errors"
	"strings"
	"time"

	"sluice/policy/directory"
)

// Kind is how a request failed.
type Kind int

// The kinds.
const (
	Invalid   Kind = iota // the request is faulty
	Missing               // there is no such team, key or task, or it is not the person's
	Forbidden             // the person may look, but not change
	Conflict              // the content forbids the change
	Lost                  // another change was faster: the ETag is no longer the team's
	Away                  // the directory or the accounts cannot be reached
	Often                 // the members of the team have changed too much lately
	Full                  // the members of the team have filled their part of the audit for the day
)

// Error is why a request was refused. No field contains a secret, or an id that is not known.
type Error struct {
	Kind    Kind
	Field   string        // such as "rates.tokens.per"; empty if the error is not in one field
	Text    string        // the error in words
	Given   string        // as far as it may be shown; may be empty
	Allowed string        // may be empty
	Advice  string        // what to do; may be empty
	Wait    time.Duration // after which the same may be done; 0: not known
	cause   error
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

// Unwrap returns what is for the log alone, if there is something.
func (e *Error) Unwrap() error { return e.cause }

var (
	errNoTeam = &Error{Kind: Missing, Field: "id", Text: "there is no such team", Advice: "look at the list of teams"}
	errNoKey  = &Error{Kind: Missing, Field: "key", Text: "the team has no such key", Advice: "look at the team's keys"}
	errNoTask = &Error{Kind: Missing, Field: "task", Text: "the team has no such task", Advice: "look at the team's tasks"}
	errMayNot = &Error{Kind: Forbidden, Text: "you may look at this, but not change it", Advice: "ask an operator"}
	errNotAll = &Error{Kind: Forbidden, Text: "this is about all teams", Advice: "look at your own team, or ask an operator"}
	errLost   = &Error{
		Kind: Lost, Field: "If-Match", Text: "the team has changed since you read it", Allowed: "the ETag that the team has now",
		Advice: "read the team again and repeat the change",
	}
	errOfFile = &Error{
		Kind: Conflict, Field: "owner", Text: "the team stands in the teams file", Given: "file", Allowed: "directory", Advice: "change it in the file",
	}
)

// told is an error of the directory, or of what keeps it, as one of this package.
func told(err error) error {
	var mine *Error
	var theirs *directory.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mine):
		return err
	case errors.As(err, &theirs):
		kinds := map[directory.Kind]Kind{directory.Invalid: Invalid, directory.Missing: Missing, directory.Conflict: Conflict}
		e := &Error{Kind: kinds[theirs.Kind], Field: theirs.Field, Text: theirs.Text, Advice: theirs.Advice, cause: err}
		if given, allowed, ok := strings.Cut(theirs.Text, ", allowed: "); ok {
			e.Given, e.Allowed = strings.TrimPrefix(given, "got "), allowed
		} else if rest, ok := strings.CutPrefix(theirs.Text, "allowed: "); ok {
			e.Allowed = rest
		}
		return e
	}
	return Unavailable("the directory cannot be used at the moment", err)
}

// Unavailable is the error of something that cannot be reached. The cause is for the log alone.
func Unavailable(text string, cause error) *Error {
	return &Error{Kind: Away, Text: text, Advice: "try again", cause: cause}
}
