package responses

import "strings"

// members are the client's names of parameters of the service's request that have another there.
var members = map[string]string{
	"incremental_output": "stream", "stream": "stream", "max_completion_tokens": "max_output_tokens", "enable_thinking": "reasoning.effort",
	"response_format": "text.format", "result_format": "",
}

// Param returns the member of a request that was translated to a field of the service's request, such as parameters.top_p. It is
// empty if there is none, as for a header.
func Param(field string) string {
	if field == "model" {
		return field
	}
	name, ok := strings.CutPrefix(field, "parameters.")
	if !ok {
		if strings.HasPrefix(field, "input.messages") {
			return "input"
		}
		return ""
	}
	first := name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz_"))]
	known, ok := members[first]
	switch {
	case !ok:
		return strings.Replace(name, ".function.", ".", 1) // of a tool
	case first == "response_format":
		return known + strings.Replace(name[len(first):], ".json_schema", "", 1)
	}
	return known
}
