package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

// toolCalls decides which functions to call: the one that the request forces, else those that the user mentions, else
// the first. After a tool's result, or if the request forbids it, it calls none. It calls several only if
// parallel_tool_calls allows it.
func toolCalls(p *prompt, parameters request.Object) []answer.ToolCall {
	tools, choice := parameters.List("tools"), parameters.Child("tool_choice")
	if len(tools) == 0 || p.afterTool || parameters.Text("tool_choice") == "none" {
		return nil
	}
	chosen := mentioned(cmp.Or(choice.Child("function").Text("name"), p.question), tools)
	if len(chosen) == 0 {
		chosen = []request.Object{request.AsObject(tools[0]).Child("function")}
	}
	if !parameters.Flag("parallel_tool_calls") {
		chosen = chosen[:1]
	}
	var calls []answer.ToolCall
	for i, f := range chosen {
		arguments, _ := json.Marshal(sampleArguments(f)) // came from JSON
		h := fnv.New32a()
		fmt.Fprint(h, p.hash, i)
		calls = append(calls, answer.ToolCall{
			Index: i, ID: fmt.Sprintf("call_%08x%016x", h.Sum32(), p.hash), Type: "function",
			Function: answer.Function{Name: f.Text("name"), Arguments: string(arguments)},
		})
	}
	return calls
}

// mentioned returns the functions whose names stand in text.
func mentioned(text string, tools []any) []request.Object {
	var out []request.Object
	for _, t := range tools {
		if f := request.AsObject(t).Child("function"); f.Text("name") != "" && strings.Contains(text, f.Text("name")) {
			out = append(out, f)
		}
	}
	return out
}

// sampleArguments makes arguments that fit the function's schema, which is an object's even if it does not say so.
func sampleArguments(function request.Object) any {
	if schema := function.Child("parameters"); schemaType(schema) == "object" {
		return sample(schema, "arguments", 0)
	}
	return map[string]any{}
}
