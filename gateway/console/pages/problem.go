package pages

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/gateway/console/figures"
)

// Problem is an error that is told to the person.
type Problem struct {
	Status int    // of the answer
	Field  string // the field it is about, such as rates.tokens.per; empty: none
	Text   string // one sentence or two: what is wrong, and what to do
}

// Error is the text.
func (p *Problem) Error() string { return p.Text }

// Under reports whether the problem is about a field below a prefix, such as "mint.".
func (p *Problem) Under(prefix string) bool { return strings.HasPrefix(p.Field, prefix) }

// problemOf is the problem behind an error.
func problemOf(err error) *Problem {
	var p *Problem
	var adding *figures.AddingError
	switch {
	case errors.As(err, &adding):
		return &Problem{Status: http.StatusServiceUnavailable, Text: fmt.Sprintf("Past days are being added up: %d of %d are ready. Come again in a minute, or look at fewer days.",
			adding.Days-adding.Missing, adding.Days)}
	case errors.As(err, &p):
		return p
	case errors.Is(err, figures.ErrAbsent):
		return errAbsent
	case errors.Is(err, figures.ErrQuery):
		return &Problem{Status: http.StatusUnprocessableEntity, Text: "The address asks for something that there is not. Open the page from the navigation."}
	}
	return &Problem{Status: http.StatusServiceUnavailable, Text: "This cannot be read at the moment. Nothing was changed. Reload the page in a few seconds."}
}

var (
	errAbsent    = &Problem{Status: http.StatusNotFound, Text: "There is no such page, or it is not yours to see."}
	errForbidden = &Problem{Status: http.StatusForbidden, Text: "Your role does not allow this. An operator can do it for you."}
)

// titleOf names a status in words.
func titleOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden, http.StatusUnauthorized:
		return "Not allowed"
	case http.StatusPreconditionFailed:
		return "Changed meanwhile"
	case http.StatusServiceUnavailable:
		return "Not available at the moment"
	}
	return "Not done"
}
