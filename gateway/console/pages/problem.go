package pages

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"sluice/gateway/console"
	"sluice/gateway/console/figures"
	"sluice/policy/teams"
)

// fault is a problem as a page shows it.
type fault struct {
	*teams.Problem
	form string // the form that the problem concerns; empty: none
}

// Under reports whether the fault concerns a form, such as "mint". A nil fault concerns none.
func (f *fault) Under(form string) bool { return f != nil && f.form == form }

// formLabels are the labels of the fields of a team's page, by the member that a problem names.
var formLabels = map[string]string{
	"unit": "Unit", "delta": "Add", "day": "Day", "account": "Account", "reason": "Reason", "amount": "By", "until": "Until", "note": "Note",
	"expires": "Ends on",
}

// Label returns the label of the field that the fault is about; empty: it is about none, or about one of the fields that say so themselves.
func (f *fault) Label() string { return formLabels[f.Field] }

// At marks a form's field that the fault is about.
func (f *fault) At(form, field string) template.HTMLAttr {
	if !f.Under(form) || f.Field != field {
		return ""
	}
	return `aria-invalid="true"`
}

// Status returns the HTTP status of the page.
func (f *fault) Status() int { return console.Status(f.Code) }

// Sentence returns what is wrong, what is allowed, and what to do.
func (f *fault) Sentence() string {
	text := sentence(f.Text)
	if f.Allowed != "" && !strings.Contains(f.Text, f.Allowed) {
		text += " " + sentence("allowed: "+f.Allowed)
	}
	if f.Advice != "" {
		text += " " + sentence(f.Advice)
	}
	return text
}

// sentence makes a clause a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// faultOf returns the problem behind an error.
func faultOf(err error) *fault {
	var p *teams.Problem
	var adding *figures.AddingError
	switch {
	case errors.As(err, &adding):
		const text = "past days are being added up: %d of %d are ready. Come again in a minute, or look at fewer days"
		p = away(text, adding.Days-adding.Missing, adding.Days)
	case errors.As(err, &p):
	case errors.Is(err, figures.ErrAbsent):
		p = errAbsent
	case errors.Is(err, figures.ErrQuery):
		p = invalid("", "the address asks for something that does not exist. Open the page from the navigation")
	default:
		p = away("The store of this page (Redis) cannot be read at the moment. Reload the page in a few seconds")
	}
	return &fault{Problem: p}
}

func away(text string, values ...any) *teams.Problem {
	return &teams.Problem{Code: teams.CodeAway, Text: fmt.Sprintf(text, values...)}
}

func invalid(field, text string) *teams.Problem {
	return &teams.Problem{Code: teams.CodeInvalid, Field: field, Text: text}
}

var (
	errAbsent    = &teams.Problem{Code: teams.CodeMissing, Text: "there is no such page, or it is not yours to see"}
	errForbidden = &teams.Problem{Code: teams.CodeForbidden, Text: "your role does not allow this. An operator can do it for you"}
	errNobody    = &teams.Problem{Code: console.CodeLogin, Text: "you are not signed in, or your session has ended"}
)

// titleOf returns the title of a page with a status.
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
