package dialect

import (
	"regexp"
	"strings"
)

// paths matches the words of a message, among them fields of the service's request, such as parameters.top_p.
var paths = regexp.MustCompile(`[A-Za-z0-9._\[\]]+`)

// named replaces the fields of the service's request in a message by the client's names. params has the client's name of a field; a field
// without one stays.
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
