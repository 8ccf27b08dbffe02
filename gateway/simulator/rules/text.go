package rules

import (
	"math"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

// textRules are the bounds of a chat's parameters.
var textRules = []rule{
	{"result_format", words("text", "message")},
	{"temperature", span{from: 0, to: 2, openTo: true}.check},
	{"top_p", span{from: 0, to: 1, openFrom: true}.check},
	{"top_k", atLeast(0)},
	{"repetition_penalty", span{from: 0, to: math.Inf(1), openFrom: true}.check},
	{"presence_penalty", span{from: -2, to: 2}.check},
	{"max_tokens", atLeast(1)},
	{"max_completion_tokens", atLeast(1)},
	{"thinking_budget", atLeast(0)},
	{"seed", seed},
	{"n", integers(1, 4)},
	{"logprobs", boolean},
	{"top_logprobs", integers(0, 5)},
	{"max_pixels", atLeast(1)},
	{"stream", boolean},
	{"incremental_output", boolean},
	{"enable_thinking", boolean},
	{"enable_code_interpreter", boolean},
	{"parallel_tool_calls", boolean},
	{"vl_high_resolution_images", boolean},
	{"vl_enable_image_hw_output", boolean},
	{"stop", stop},
	{"tools", tools},
	{"tool_choice", toolChoice},
	{"response_format", responseFormat},
}

// Text judges a request to the text path.
func (b *Book) Text(q *request.Request) error {
	if err := b.Chat(q); err != nil {
		return err
	}
	p := q.Parameters()
	if len(p.List("tools")) > 0 && b.ResultFormat(q) == "text" {
		return answer.Invalid("parameters.result_format must be message when tools is used")
	}
	if p.Flag("enable_thinking") && Matches(b.ThinkingModels, q.Model) && p.Text("result_format") == "text" {
		return answer.Invalid("parameters.result_format can only be message in thinking mode")
	}
	for _, m := range q.Input().List("messages") {
		for _, item := range request.AsObject(m).List("content") {
			if _, ok := request.AsObject(item)["text"]; !ok {
				return answer.Invalid("input.messages.content of a text model holds text only")
			}
		}
	}
	return nil
}

// ResultFormat is the format a request gets.
func (b *Book) ResultFormat(q *request.Request) string {
	parameters := q.Parameters()
	if f := parameters.Text("result_format"); f != "" {
		return f
	}
	if Matches(b.MessageModels, q.Model) || parameters.Flag("enable_thinking") && Matches(b.ThinkingModels, q.Model) {
		return "message"
	}
	return "text"
}

// Chat judges what both chat paths have in common.
func (b *Book) Chat(q *request.Request) error {
	if err := b.checkFrame(q, false); err != nil {
		return err
	}
	if err := checkConversation(q.Input()); err != nil {
		return err
	}
	parameters := q.Parameters()
	if err := checkAll(parameters, textRules); err != nil {
		return err
	}
	return b.checkTogether(q, parameters)
}

// checkTogether judges parameters that depend on each other.
func (b *Book) checkTogether(q *request.Request, p request.Object) error {
	several, thinking, tools := p.Integer("n", 1) > 1, p.Flag("enable_thinking"), len(p.List("tools")) > 0
	switch {
	case several && tools:
		return answer.Invalid("parameters.n must be 1 when tools is used")
	case several && thinking:
		return answer.Invalid("parameters.n must be 1 in thinking mode")
	case thinking && p.Child("tool_choice") != nil:
		return answer.Invalid("parameters.tool_choice cannot force a tool in thinking mode")
	case tools && Matches(b.VisionModels, q.Model):
		return answer.Invalid("parameters.tools is not supported by this model")
	case p.Child("response_format").Text("type") == "json_object" && !mentionsJSON(q.Input()):
		return answer.Invalid("input.messages must contain the word json to use response_format json_object")
	}
	return nil
}

// mentionsJSON reports whether any text of the conversation says json.
func mentionsJSON(in request.Object) bool {
	texts := in.Text("prompt")
	for _, v := range in.List("messages") {
		m := request.AsObject(v)
		texts += "\n" + m.Text("content")
		for _, item := range m.List("content") {
			texts += "\n" + request.AsObject(item).Text("text")
		}
	}
	return strings.Contains(strings.ToLower(texts), "json")
}
