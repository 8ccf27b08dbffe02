package clerk

import (
	"errors"
	"net/http"
	"strings"

	"sluice/gateway/console/pages"
	"sluice/gateway/console/registry"
)

var statuses = map[registry.Kind]int{
	registry.Invalid: http.StatusUnprocessableEntity, registry.Missing: http.StatusNotFound, registry.Forbidden: http.StatusForbidden,
	registry.Conflict: http.StatusConflict, registry.Lost: http.StatusPreconditionFailed, registry.Away: http.StatusServiceUnavailable,
	registry.Often: http.StatusTooManyRequests, registry.Full: http.StatusTooManyRequests,
}

// told is an error of the registry as a page shows it.
func told(err error) error {
	var e *registry.Error
	if !errors.As(err, &e) {
		return err
	}
	text := sentence(e.Text)
	if e.Allowed != "" && !strings.Contains(e.Text, e.Allowed) {
		text += " Allowed: " + e.Allowed + "."
	}
	if e.Advice != "" {
		text += " " + sentence(e.Advice)
	}
	return &pages.Problem{Status: statuses[e.Kind], Field: e.Field, Text: text}
}

// sentence is a clause as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
