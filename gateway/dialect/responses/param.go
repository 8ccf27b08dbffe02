package responses

import (
	"strings"

	"sluice/gateway/conversation"
)

var members = map[string]string{
	"model": "model", "input.messages": "input", "parameters.incremental_output": "stream", "parameters.stream": "stream",
	"parameters.max_completion_tokens": "max_output_tokens", "parameters.enable_thinking": "reasoning.effort",
	"parameters.response_format": "text.format", "parameters.result_format": "",
}

// Param returns the member of a request that was translated to a field of the service's request, such as parameters.top_p. It is
// empty if there is none, as for a header.
func Param(field string) string {
	name, rest := conversation.Param(field, members)
	switch name {
	case "input": // its items are not numbered as the service's turns are
		return name
	case "text.format":
		return name + strings.Replace(rest, ".json_schema", "", 1)
	}
	return name + strings.Replace(rest, ".function.", ".", 1) // of a tool
}
