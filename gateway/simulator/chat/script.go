package chat

import (
	"encoding/json"
	"math"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/prose"
	"sluice/gateway/simulator/request"
)

// script is one alternative of a chat answer, cut into the steps in which a stream tells it. A whole answer is all its
// steps at once.
type script struct {
	steps  []step
	finish string
}

// step is what one frame adds.
type step struct {
	thinking, content string
	calls             []answer.ToolCall
	tokens            int // of all the above
	thought           int // of thinking alone
}

// generate writes the alternatives of the answer.
func (ch *chat) generate(maxOutput int) {
	for i := range ch.parameters.Integer("n", 1) {
		ch.scripts = append(ch.scripts, ch.write(ch.prompt.hash+uint64(i), maxOutput))
	}
}

// write writes one alternative. max_completion_tokens includes the chain of thought, max_tokens does not.
func (ch *chat) write(hash uint64, maxOutput int) script {
	var sc script
	p, size := ch.prompt, ch.FrameTokens
	both := ch.parameters.Integer("max_completion_tokens", math.MaxInt)
	content := min(maxOutput, ch.parameters.Integer("max_tokens", maxOutput), both)
	if ch.parameters.Flag("enable_thinking") {
		most := min(both, ch.parameters.Integer("thinking_budget", math.MaxInt))
		text, n := prose.FirstTokens(prose.VoiceFor(p.question).Thoughts(p.question), most)
		sc.say(text, size, func(st *step, part string) { st.thinking, st.thought = part, st.tokens })
		content = min(content, both-n)
	}
	if calls := toolCalls(p, ch.parameters); len(calls) > 0 {
		for _, call := range calls {
			sc.call(call, size)
		}
		sc.finish = "tool_calls"
		return sc
	}
	text := stopped(compose(p, ch.parameters, hash), ch.parameters["stop"])
	cut, _ := prose.FirstTokens(text, content)
	sc.finish = "stop"
	if len(cut) < len(text) {
		sc.finish = "length"
	}
	sc.say(cut, size, func(st *step, part string) { st.content = part })
	return sc
}

// compose writes the text in the form the request wants.
func compose(p *prompt, parameters request.Object, hash uint64) string {
	format := parameters.Child("response_format")
	switch format.Text("type") {
	case "json_object":
		return prose.JSONAnswer(p.question, hash)
	case "json_schema":
		value, _ := json.Marshal(sample(format.Child("json_schema").Child("schema"), "answer", 0)) // came from JSON
		return string(value)
	}
	return prose.VoiceFor(p.question).Answer(p.question, hash)
}

// stopped cuts text before the first stop string. Token ids stop nothing: this model has no vocabulary to number.
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

// call appends a tool call, its arguments in steps.
func (sc *script) call(tc answer.ToolCall, n int) {
	arguments := tc.Function.Arguments
	tc.Function.Arguments = ""
	sc.steps = append(sc.steps, step{calls: []answer.ToolCall{tc}, tokens: prose.Tokens(tc.Function.Name)})
	sc.say(arguments, n, func(st *step, part string) {
		st.calls = []answer.ToolCall{{Index: tc.Index, Type: "function", Function: answer.Function{Arguments: part}}}
	})
}
