package chat

import (
	"encoding/json"
	"math"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/prose"
)

// script is one alternative of an answer, cut into the steps of a stream.
type script struct {
	steps  []step
	finish string // finish_reason
}

// step is the text that one frame adds.
type step struct {
	thinking, content string
	calls             []answer.ToolCall
	tokens            int // of all the above
	thought           int // of thinking alone
}

// write writes one alternative. max_completion_tokens includes the chain of thought, max_tokens does not.
func (ch *chat) write(hash uint64) script {
	var sc script
	all := ch.parameters.Integer("max_completion_tokens", math.MaxInt)
	limit := min(ch.MaxOutput, ch.parameters.Integer("max_tokens", ch.MaxOutput), all)
	if ch.parameters.Flag("enable_thinking") {
		budget := min(all, ch.parameters.Integer("thinking_budget", math.MaxInt))
		text, n := prose.FirstTokens(prose.Thoughts(ch.prompt.question), budget)
		sc.say(text, ch.FrameTokens, func(st *step, part string) { st.thinking, st.thought = part, st.tokens })
		limit = min(limit, all-n)
	}
	if calls := toolCalls(ch.prompt, ch.parameters); len(calls) > 0 {
		for _, call := range calls {
			sc.call(call, ch.FrameTokens)
		}
		sc.finish = "tool_calls"
		return sc
	}
	whole := stopped(ch.compose(hash), ch.parameters["stop"])
	text, _ := prose.FirstTokens(whole, limit)
	sc.finish = "stop"
	if len(text) < len(whole) {
		sc.finish = "length"
	}
	sc.say(text, ch.FrameTokens, func(st *step, part string) { st.content = part })
	return sc
}

// compose writes the text in the form that the request asks for.
func (ch *chat) compose(hash uint64) string {
	format := ch.parameters.Child("response_format")
	switch format.Text("type") {
	case "json_object":
		return prose.JSONAnswer(ch.prompt.question, hash)
	case "json_schema":
		value, _ := json.Marshal(sample(format.Child("json_schema").Child("schema"), "answer", 0)) // came from JSON
		return string(value)
	}
	return prose.Answer(ch.prompt.question, hash)
}

// stopped cuts text before the first stop string. Token ids stop nothing: the simulator has no vocabulary.
func stopped(text string, stop any) string {
	list, _ := stop.([]any)
	if one, ok := stop.(string); ok {
		list = []any{one}
	}
	for _, v := range list {
		if word, ok := v.(string); ok && word != "" {
			text, _, _ = strings.Cut(text, word)
		}
	}
	return text
}

// say appends text in steps of n tokens; put stores each part.
func (sc *script) say(text string, n int, put func(*step, string)) {
	for len(text) > 0 {
		part, count := prose.FirstTokens(text, n)
		text = text[len(part):]
		st := step{tokens: count}
		put(&st, part)
		sc.steps = append(sc.steps, st)
	}
}

// call appends a tool call, its arguments in steps of n tokens.
func (sc *script) call(tc answer.ToolCall, n int) {
	arguments := tc.Function.Arguments
	tc.Function.Arguments = ""
	sc.steps = append(sc.steps, step{calls: []answer.ToolCall{tc}, tokens: prose.Tokens(tc.Function.Name)})
	sc.say(arguments, n, func(st *step, part string) {
		st.calls = []answer.ToolCall{{Index: tc.Index, Type: "function", Function: answer.Function{Arguments: part}}}
	})
}

// join joins the steps from..to-1, as many as there are.
func (sc script) join(from, to int) step {
	var all step
	n := len(sc.steps)
	for _, st := range sc.steps[min(from, n):min(to, n)] {
		all.thinking += st.thinking
		all.content += st.content
		for _, call := range st.calls {
			if n := len(all.calls); n > 0 && all.calls[n-1].Index == call.Index {
				all.calls[n-1].Function.Arguments += call.Function.Arguments
			} else {
				all.calls = append(all.calls, call)
			}
		}
	}
	return all
}
