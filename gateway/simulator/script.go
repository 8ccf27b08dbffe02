package simulator

import "fmt"

// ScriptedCall is a call of a tool in a script.
type ScriptedCall struct {
	Name      string // of the function
	Arguments string // JSON
}

// scripted returns the script's calls for a conversation; ok is false if the script does not apply.
func scripted(script [][]ScriptedCall, p *prompt, tools []any) (calls []toolCall, ok bool) {
	if len(script) == 0 || !offered(script[min(p.called, len(script)-1)], tools) {
		return nil, false
	}
	if p.called >= len(script) {
		return nil, true
	}
	for i, call := range script[p.called] {
		tc := toolCall{Index: i, ID: fmt.Sprintf("call_%d_%d_%08x", p.called, i, uint32(p.hash)), Type: "function"}
		tc.Function.Name, tc.Function.Arguments = call.Name, call.Arguments
		calls = append(calls, tc)
	}
	return calls, true
}

// offered reports whether a request has the tools of these calls.
func offered(calls []ScriptedCall, tools []any) bool {
	names := map[string]bool{}
	for _, tool := range tools {
		names[get[string](tool, "function", "name")] = true
	}
	for _, call := range calls {
		if !names[call.Name] {
			return false
		}
	}
	return true
}
