package dialect

import (
	"regexp"
	"strings"
)

// paths are words of a message, and fields of the service's request, such as parameters.top_p.
var paths = regexp.MustCompile(`[A-Za-z0-9._\[\]]+`)

// named puts the client's names into a message that names fields of the service's request. params has the client's name of a field;
// fields without one stay.
func named(message string, params func(field string) string) string {
	if params == nil {
		return message
	}
	return paths.ReplaceAllStringFunc(message, func(word string) string {
		field := strings.TrimRight(word, ".")
		if !strings.HasPrefix(field, "parameters.") && !strings.HasPrefix(field, "input.") {
			return word
		}
		if name := params(field); name != "" {
			return name + word[len(field):]
		}
		return word
	})
}
