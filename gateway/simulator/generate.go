package simulator

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
)

// script is one alternative of a chat answer, cut into the steps in which a
// stream tells it. A whole answer is all its steps at once.
type script struct {
	steps  []step
	finish string
}

// step is what one frame adds.
type step struct {
	thinking, content string
	calls             []toolCall
	tokens            int // of all the above
	thought           int // of thinking alone
}

// limits are the bounds of one answer in tokens.
type limits struct {
	thinking, content int
	step              int // per frame
}

// limitsOf reads the bounds of a request. max_completion_tokens includes the
// chain of thought, max_tokens does not.
func (s *Simulator) limitsOf(parameters object) limits {
	l := limits{thinking: math.MaxInt, content: s.cfg.MaxOutput, step: s.cfg.FrameTokens}
	l.content = min(l.content, parameters.integer("max_tokens", l.content))
	l.thinking = parameters.integer("thinking_budget", l.thinking)
	if both := parameters.integer("max_completion_tokens", math.MaxInt); both != math.MaxInt {
		l.thinking = min(l.thinking, both)
		l.content = min(l.content, both)
	}
	return l
}

// generate writes the alternatives of an answer.
func (s *Simulator) generate(p *prompt, parameters object) []script {
	var out []script
	for i := range parameters.integer("n", 1) {
		out = append(out, s.write(p, parameters, p.hash+uint64(i)))
	}
	return out
}

func (s *Simulator) write(p *prompt, parameters object, hash uint64) script {
	var sc script
	l := s.limitsOf(parameters)
	if parameters.flag("enable_thinking") {
		text, n := firstTokens(voiceFor(p.question).thoughts(p.question), l.thinking)
		sc.say(text, l.step, func(st *step, part string) { st.thinking, st.thought = part, st.tokens })
		if _, ok := parameters["max_completion_tokens"]; ok {
			l.content = min(l.content, max(0, parameters.integer("max_completion_tokens", 0)-n))
		}
	}
	if calls := toolCalls(p, parameters); len(calls) > 0 {
		for _, call := range calls {
			sc.call(call, l.step)
		}
		sc.finish = "tool_calls"
		return sc
	}
	text := stopped(compose(p, parameters, hash), parameters["stop"])
	text, n := firstTokens(text, l.content+1)
	sc.finish = "stop"
	if n > l.content {
		text, _ = firstTokens(text, l.content)
		sc.finish = "length"
	}
	sc.say(text, l.step, func(st *step, part string) { st.content = part })
	return sc
}

// compose writes the text in the form the request wants.
func compose(p *prompt, parameters object, hash uint64) string {
	format := parameters.child("response_format")
	switch format.text("type") {
	case "json_object":
		return jsonAnswer(p.question, hash)
	case "json_schema":
		value, _ := json.Marshal(sample(format.child("json_schema").child("schema"), "answer", 0)) // came from JSON
		return string(value)
	}
	return voiceFor(p.question).answer(p.question, hash)
}

// stopped cuts text before the first stop string. Token ids stop nothing:
// this model has no vocabulary to number.
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
		part, count := firstTokens(text, n)
		text = text[len(part):]
		st := step{tokens: count}
		put(&st, part)
		sc.steps = append(sc.steps, st)
	}
}

// toolCall is one function call on the wire. In an incremental stream only
// the first part of a call carries its name.
type toolCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// call appends a tool call, its arguments in steps.
func (sc *script) call(tc toolCall, n int) {
	arguments := tc.Function.Arguments
	tc.Function.Arguments = ""
	sc.steps = append(sc.steps, step{calls: []toolCall{tc}, tokens: tokens(tc.Function.Name)})
	sc.say(arguments, n, func(st *step, part string) {
		st.calls = []toolCall{{Index: tc.Index, Type: "function", Function: functionCall{Arguments: part}}}
	})
}

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
