package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// toolCalls decides which functions to call: those of the script, else the one that the request forces, else those that the user mentions,
// else the first. After a tool's result, or if the request forbids it, it calls none. It calls several only if parallel_tool_calls allows
// it.
func toolCalls(script [][]ScriptedCall, p *prompt, parameters object) []toolCall {
	tools := get[[]any](parameters, "tools")
	if calls, ok := scripted(script, p, tools); ok {
		return calls
	}
	if len(tools) == 0 || p.afterTool || get[string](parameters, "tool_choice") == "none" {
		return nil
	}
	text := cmp.Or(get[string](parameters, "tool_choice", "function", "name"), p.question)
	chosen := slices.DeleteFunc(slices.Clone(tools), func(t any) bool {
		name := get[string](t, "function", "name")
		return name == "" || !strings.Contains(text, name)
	})
	if len(chosen) == 0 {
		chosen = tools[:1]
	}
	if !get[bool](parameters, "parallel_tool_calls") {
		chosen = chosen[:1]
	}
	var calls []toolCall
	for i, t := range chosen {
		h := fnv.New32a()
		fmt.Fprint(h, p.hash, i)
		tc := toolCall{Index: i, ID: fmt.Sprintf("call_%08x%016x", h.Sum32(), p.hash), Type: "function"}
		tc.Function.Name = get[string](t, "function", "name")
		tc.Function.Arguments = "{}"
		if schema := get[object](t, "function", "parameters"); schemaType(schema) == "object" {
			raw, _ := json.Marshal(sample(schema, "arguments", 0)) // came from JSON
			tc.Function.Arguments = string(raw)
		}
		calls = append(calls, tc)
	}
	return calls
}

// maxSample bounds the depth of a sample: schemas may refer to themselves.
const maxSample = 8

// sample makes a value that fits the common parts of a JSON Schema: type, properties, items, enum, const, default, minimum, minItems and
// the first branch of anyOf or oneOf. A string contains the name.
func sample(schema object, name string, depth int) any {
	for _, key := range []string{"const", "default"} {
		if v, ok := schema[key]; ok {
			return v
		}
	}
	if enum := get[[]any](schema, "enum"); len(enum) > 0 {
		return enum[0]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := get[[]any](schema, key); len(branches) > 0 && depth < maxSample {
			return sample(get[object](branches[0]), name, depth+1)
		}
	}
	least, ok := schema["minimum"].(float64)
	if !ok {
		least = 1
	}
	switch schemaType(schema) {
	case "object":
		out := object{}
		for name, property := range get[object](schema, "properties") {
			if depth < maxSample {
				out[name] = sample(get[object](property), name, depth+1)
			}
		}
		return out
	case "array":
		out := []any{}
		// With more elements, a request of a few bytes could cause a huge answer.
		for range min(max(integer(schema, "minItems", 1), 1), 4) {
			if depth < maxSample {
				out = append(out, sample(get[object](schema, "items"), name, depth+1))
			}
		}
		return out
	case "integer":
		return math.Ceil(least)
	case "number":
		return least
	case "boolean":
		return true
	case "null":
		return nil
	}
	return "a " + strings.NewReplacer("_", " ", "-", " ").Replace(name)
}

// schemaType returns the type, the first of several, or the type that the members imply.
func schemaType(schema object) string {
	switch t := schema["type"].(type) {
	case string:
		if t != "" {
			return t
		}
	case []any:
		if len(t) > 0 {
			return get[string](t[0])
		}
	}
	if get[object](schema, "properties") != nil {
		return "object"
	}
	return "string"
}
