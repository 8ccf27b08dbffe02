package dialect

import "strings"

// named puts the client's names into a message that names fields of the service's request, such as parameters.top_p. params has the
// client's name of a field; fields without one stay.
func named(message string, params func(field string) string) string {
	if params == nil {
		return message
	}
	var out strings.Builder
	for message != "" {
		size := fieldSize(message)
		if size == 0 {
			size = wordSize(message)
			out.WriteString(message[:size])
		} else if name := params(message[:size]); name != "" {
			out.WriteString(name)
		} else {
			out.WriteString(message[:size])
		}
		message = message[size:]
	}
	return out.String()
}

// fieldSize is the length of the field of the service's request that a text begins with; 0: it begins with none.
func fieldSize(text string) int {
	if !strings.HasPrefix(text, "parameters.") && !strings.HasPrefix(text, "input.") {
		return 0
	}
	return len(strings.TrimRight(text[:pathSize(text)], "."))
}

// wordSize is the length of the word that a text begins with, and of what is between it and the next.
func wordSize(text string) int {
	size := pathSize(text)
	for size < len(text) && !inPath(text[size]) {
		size++
	}
	return size
}

func pathSize(text string) (size int) {
	for size < len(text) && inPath(text[size]) {
		size++
	}
	return size
}

func inPath(c byte) bool {
	return c == '.' || c == '_' || c == '[' || c == ']' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
