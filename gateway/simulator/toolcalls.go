package simulator

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// toolCalls decides which functions to call: the one the request forces, else
// those whose names the user mentions, else the first; none after a tool's
// result, or when the request forbids it. More than one is called only if
// parallel_tool_calls allows.
func toolCalls(p *prompt, parameters object) []toolCall {
	tools := parameters.list("tools")
	if len(tools) == 0 || p.afterTool || parameters.text("tool_choice") == "none" {
		return nil
	}
	chosen := mentioned(p.question, tools)
	if name := parameters.child("tool_choice").child("function").text("name"); name != "" {
		chosen = mentioned(name, tools)
	}
	if len(chosen) == 0 {
		chosen = []object{asObject(tools[0]).child("function")}
	}
	if !parameters.flag("parallel_tool_calls") {
		chosen = chosen[:1]
	}
	var calls []toolCall
	for i, f := range chosen {
		arguments, _ := json.Marshal(sampleArguments(f)) // came from JSON
		h := fnv.New32a()
		fmt.Fprint(h, p.hash, i)
		calls = append(calls, toolCall{
			Index: i, ID: fmt.Sprintf("call_%08x%016x", h.Sum32(), p.hash), Type: "function",
			Function: functionCall{Name: f.text("name"), Arguments: string(arguments)},
		})
	}
	return calls
}

func mentioned(text string, tools []any) []object {
	var out []object
	for _, t := range tools {
		if f := asObject(t).child("function"); f.text("name") != "" && strings.Contains(text, f.text("name")) {
			out = append(out, f)
		}
	}
	return out
}

// sampleArguments makes arguments that fit the function's schema, which is
// an object's even if it does not say so.
func sampleArguments(function object) any {
	if schema := function.child("parameters"); schemaType(schema) == "object" {
		return sample(schema, "arguments", 0)
	}
	return map[string]any{}
}
