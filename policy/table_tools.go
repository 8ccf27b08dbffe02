package policy

import "sluice/policy/strictjson"

// toolRules are the rules of endpoint 1 on tools and what chooses among them.
var toolRules = []rule{
	{"text.tools", whenText, "parameters.tools", ofShape(fieldTools, strictjson.Array),
		"1: | tools | array | Function-calling tools;", ModeRefuse},
	{"text.tools.tool", whenText, "parameters.tools[]", seen(markTool, "an object"),
		"1: Each tool has type (string, only function is supported) and a function object", ModeRefuse},
	{"text.tools.type", whenText, "parameters.tools[].type", seen(markToolType, `"function"`),
		"1: Each tool has type (string, only function is supported)", ModeRefuse},
	{"text.tools.function", whenText, "parameters.tools[].function", seen(markToolFunction, "an object"),
		"1: and a function object with name", ModeRefuse},
	{"text.tools.name", whenText, "parameters.tools[].function.name",
		bounded(markToolName, "1 to 64 letters, digits, underscores and hyphens", "64"),
		"1: name (letters, digits, underscore, hyphen; max 64 characters)", ModeRefuse},
	{"text.tools.description", whenText, "parameters.tools[].function.description", seen(markToolDescription, "a string"),
		"1: description (string, helps the model decide when to call it)", ModeRefuse},
	{"text.tools.parameters", whenText, "parameters.tools[].function.parameters", seen(markToolParameters, "an object"),
		"1: a JSON Schema object for the function parameters (default {}).", ModeRefuse},
	{"text.tools.vision", whenVision.and("tools given", func(q *Request) bool { return q.Tools > 0 }), "parameters.tools",
		never(fieldTools, "no tools for vision-language models"),
		"1: Not supported by vision-language models.", ModeRefuse},
	{"text.tool_choice", whenText, "parameters.tool_choice", choice(),
		"1: | Tool selection strategy |", ModeRefuse},
	{"text.tool_choice.thinking", whenForced, "parameters.tool_choice",
		never(fieldToolChoice, `"auto" or "none" in thinking mode`),
		"1: Thinking-mode models do not support forcing a specific tool.", ModeRefuse},
	{"text.parallel_tool_calls", whenText, "parameters.parallel_tool_calls", boolean(fieldParallelToolCalls),
		"1: | Parallel tool calls switch |", ModeRefuse},
	{"text.parallel_tool_calls.thinking", whenForced, "parameters.parallel_tool_calls",
		notTrue(fieldParallelToolCalls, "false where thinking mode forces a tool"),
		"1: Not supported by thinking-mode models when forcing a specific tool.", ModeRefuse},
}
