package rules

import (
	"math"
	"regexp"
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
	parameters := q.Parameters()
	if len(parameters.List("tools")) > 0 && b.ResultFormat(q) == "text" {
		return answer.Invalid("parameters.result_format must be message when tools is used")
	}
	if parameters.Flag("enable_thinking") && Matches(b.ThinkingModels, q.Model) && parameters.Text("result_format") == "text" {
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
	if q.Async {
		return errNoAsync
	}
	if err := b.checkModel(q); err != nil {
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
func (b *Book) checkTogether(q *request.Request, parameters request.Object) error {
	n, thinking := parameters.Integer("n", 1), parameters.Flag("enable_thinking")
	switch {
	case n > 1 && len(parameters.List("tools")) > 0:
		return answer.Invalid("parameters.n must be 1 when tools is used")
	case n > 1 && thinking:
		return answer.Invalid("parameters.n must be 1 in thinking mode")
	case thinking && parameters.Child("tool_choice") != nil:
		return answer.Invalid("parameters.tool_choice cannot force a tool in thinking mode")
	case len(parameters.List("tools")) > 0 && Matches(b.VisionModels, q.Model):
		return answer.Invalid("parameters.tools is not supported by this model")
	case parameters.Child("response_format").Text("type") == "json_object" && !asksForJSON(q.Input()):
		return answer.Invalid("input.messages must contain the word json to use response_format json_object")
	}
	return nil
}

// asksForJSON reports whether any text of the conversation says json.
func asksForJSON(in request.Object) bool {
	said := func(s string) bool { return strings.Contains(strings.ToLower(s), "json") }
	for _, v := range in.List("messages") {
		m := request.AsObject(v)
		if said(m.Text("content")) {
			return true
		}
		for _, item := range m.List("content") {
			if said(request.AsObject(item).Text("text")) {
				return true
			}
		}
	}
	return said(in.Text("prompt"))
}

func stop(v any) string {
	const complaint = "must be a string, an array of strings or an array of token ids"
	if _, ok := v.(string); ok {
		return ""
	}
	list, ok := v.([]any)
	if !ok {
		return complaint
	}
	kinds := map[string]bool{}
	for _, e := range list {
		kind := stopKind(e)
		if kind == "" {
			return complaint
		}
		kinds[kind] = true
	}
	if len(kinds) > 1 {
		return "must not mix strings and token ids"
	}
	return ""
}

// stopKind names the kind of one stop sequence; empty is none at all.
func stopKind(v any) string {
	switch e := v.(type) {
	case string:
		return "string"
	case float64:
		if atLeast(0)(e) == "" {
			return "id"
		}
	case []any:
		for _, id := range e {
			if atLeast(0)(id) != "" {
				return ""
			}
		}
		return "ids"
	}
	return ""
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func tools(v any) string {
	list, ok := v.([]any)
	if !ok {
		return "must be an array"
	}
	for _, e := range list {
		t := request.AsObject(e)
		f := t.Child("function")
		schema, given := f["parameters"]
		description, described := f["description"]
		switch {
		case t.Text("type") != "function":
			return "must hold tools of type function"
		case f == nil:
			return "must hold a function object in each tool"
		case !toolName.MatchString(f.Text("name")):
			return "must name each function with 1 to 64 letters, digits, underscores or hyphens"
		case described && description != nil && str(description) != "":
			return "must describe each function with a string"
		case given && schema != nil && request.AsObject(schema) == nil:
			return "must give each function's parameters as a JSON Schema object"
		}
	}
	return ""
}

func toolChoice(v any) string {
	if words("auto", "none")(v) == "" {
		return ""
	}
	o := request.AsObject(v)
	if o.Text("type") == "function" && o.Child("function").Text("name") != "" {
		return ""
	}
	return "must be auto, none or an object that names a function"
}

func responseFormat(v any) string {
	o := request.AsObject(v)
	if o == nil {
		return "must be an object"
	}
	if complaint := words("text", "json_object", "json_schema")(o["type"]); complaint != "" {
		return "type " + complaint
	}
	if o.Text("type") == "json_schema" && o.Child("json_schema").Child("schema") == nil {
		return "must hold json_schema.schema when its type is json_schema"
	}
	return ""
}
