// Package chat is the dialect of OpenAI's chat completions. docs/openai.md lists the choices that it makes where OpenAI's
// interface and the service's differ.
package chat

import (
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// Read translates the body of POST /v1/chat/completions. Its errors are of type [*conversation.Refusal]. The result holds no part of
// the body.
func Read(body []byte, models *conversation.Models) (*conversation.Request, error) {
	c := chat{parameters: make(conversation.Parameters, 0, conversation.Few)}
	if err := c.read(body); err != nil {
		return nil, err
	}
	return c.write(len(body), models)
}

// chat is a chat request, in OpenAI's terms. Values are raw.
type chat struct {
	model      []byte
	messages   []byte
	found      conversation.Found // in the messages
	effort     []byte             // reasoning_effort
	thinking   []byte             // enable_thinking, which overrules reasoning_effort
	stream     bool
	usage      bool // stream_options.include_usage
	limits     int  // how many of max_tokens and max_completion_tokens are given
	tools      []byte
	choice     int // 1 + the place of tool_choice among the parameters; 0: none
	parameters conversation.Parameters
	warnings   conversation.Warnings
}

// read reads a request, and refuses one that lacks a member or combines members wrongly. It refuses duplicate members in the objects that
// it reads. Those in other objects pass into the service's request, where the gateway refuses them, at a bounded cost.
func (c *chat) read(body []byte) error {
	var stream, options, usage []byte
	err := conversation.Members(body, conversation.Places{
		{"model", &c.model, 0},
		{"messages", &c.messages, '['},
		{"stream", &stream, 't'},
		{"stream_options", &options, '{'},
		{"reasoning_effort", &c.effort, '"'},
	}, c.member)
	if err != nil {
		return err
	}
	c.stream = string(stream) == "true"
	c.found = conversation.Survey(c.messages, "image_url")
	if err := c.check(options); err != nil {
		return err
	}
	err = conversation.Group("stream_options", options, conversation.Places{{"include_usage", &usage, 't'}}, nil)
	c.usage = string(usage) == "true"
	return err
}

// member takes any other member. A member without a counterpart at the service is dropped if its value asks for nothing, and otherwise
// refused.
func (c *chat) member(name, value []byte) error {
	idle := false
	switch string(name) {
	case "user", "metadata", "store", "service_tier", "safety_identifier", "verbosity",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention":
		idle = true // for the service
	case "frequency_penalty": // it only bends the style of an answer
		if idle = isNumber(value); idle && !rawjson.IsZero(value) {
			c.warnings.Add(conversation.Dropped(string(name), value))
		}
	case "logit_bias", "functions":
		idle = rawjson.IsEmpty(value)
	case "modalities":
		idle = isTextOnly(value)
	case "function_call":
		idle = rawjson.IsWord(value, "none")
	case "audio", "prediction", "moderation", "web_search_options": // an empty web_search_options asks for a search
	default:
		return c.pass(name, value)
	}
	if idle {
		return nil
	}
	return conversation.Unsupported(name, value)
}

func isNumber(value []byte) bool {
	first := rawjson.Kind(value)
	return first == '-' || first >= '0' && first <= '9'
}

// pass passes a member on as a parameter of the service.
func (c *chat) pass(name, value []byte) error {
	switch string(name) {
	case "input", "result_format", "incremental_output":
		return conversation.Reserved(name)
	case "max_tokens", "max_completion_tokens":
		c.limits++
	case "enable_thinking":
		c.thinking = value
	case "tools":
		c.tools = value
	case "tool_choice":
		if err := checkToolChoice(value); err != nil {
			return err
		}
		c.choice = len(c.parameters) + 1
	}
	c.parameters.Add(name, value)
	return nil
}

// checkToolChoice refuses all values except auto, none, required, and one function.
func checkToolChoice(value []byte) error {
	switch {
	case rawjson.IsWord(value, "auto"), rawjson.IsWord(value, "none"), rawjson.IsWord(value, "required"),
		rawjson.IsWord(rawjson.Find(value, "type"), "function"):
		return nil
	}
	return conversation.BadRequest("tool_choice", `tool_choice: "auto", "none", "required" or an object with the type "function" is allowed.`)
}

// check checks the members together.
func (c *chat) check(options []byte) error {
	if err := conversation.CheckModel(c.model); err != nil {
		return err
	}
	switch {
	case c.messages == nil:
		return conversation.BadRequest("messages", "messages: an array is needed.")
	case c.limits > 1:
		return conversation.BadRequest("max_tokens", "max_tokens and max_completion_tokens are both given; give one.")
	case options != nil && !c.stream:
		return conversation.BadRequest("stream_options", "stream_options is only for streams; stream is not true.")
	}
	return nil
}

// required puts the service's words in place of a choice that requires any call. model is the service's name.
func (c *chat) required(model string, models *conversation.Models) error {
	if c.choice == 0 || !rawjson.IsWord(c.parameters[c.choice-1].Value, "required") {
		return nil
	}
	said, thinks := !rawjson.Absent(c.thinking), string(c.thinking) == "true"
	if c.thinking == nil {
		said, thinks = c.effort != nil, conversation.Thinks(c.effort)
	}
	var tools []conversation.Tool
	for r := rawjson.Array(c.tools); r.Element(); {
		tools = append(tools, conversation.Tool{Name: rawjson.Find(rawjson.Find(r.Value(), "function"), "name")})
	}
	if len(tools) == 1 && tools[0].Name == nil {
		return conversation.BadRequest("tools[0].function.name", "tools[0].function.name: a name is needed.")
	}
	var err error
	c.parameters[c.choice-1].Value, err = conversation.Required(tools, models.Thinking(model, said, thinks), &c.warnings)
	return err
}

// write writes the service's request. size is the length of the client's body.
func (c *chat) write(size int, models *conversation.Models) (*conversation.Request, error) {
	r := &conversation.Request{Model: string(rawjson.Decoded(c.model)), Stream: c.stream, Dialect: &Answer{usage: c.usage}}
	if c.found.Turns > conversation.MostTurns {
		return nil, conversation.BadRequest("messages", "messages: more than %d were given.", conversation.MostTurns)
	}
	model := models.Service(r.Model)
	if err := c.required(model, models); err != nil {
		return nil, err
	}
	c.lower(model, models)
	d, err := models.Draft(r, c.found.Images, size+256+32*c.found.Turns, 0)
	if err != nil {
		return nil, err
	}
	if err := writeMessages(&d, c.messages); err != nil {
		return nil, err
	}
	d.Parameters()
	d.All(c.parameters)
	d.Thinking(c.effort != nil && c.thinking == nil, conversation.Thinks(c.effort))
	r.Body, r.Warnings = d.End(c.stream), c.warnings
	return r, nil
}

// lower lowers the bound of the answer to what the model gives, and with it the budget of the thinking, which only the newer bound counts.
func (c *chat) lower(model string, models *conversation.Models) {
	var given, sent []byte
	for i := range c.parameters {
		switch p := &c.parameters[i]; string(p.Name) {
		case "max_completion_tokens":
			given = p.Value
			p.Value = models.Lower(model, string(p.Name), p.Value, &c.warnings)
			sent = p.Value
		case "max_tokens":
			p.Value = models.Lower(model, string(p.Name), p.Value, &c.warnings)
		}
	}
	for i := range c.parameters {
		if p := &c.parameters[i]; string(p.Name) == "thinking_budget" {
			p.Value = conversation.LowerBudget(string(p.Name), p.Value, given, sent, &c.warnings)
		}
	}
}

var members = map[string]string{
	"model": "model", "input.messages": "messages", "parameters.incremental_output": "stream", "parameters.stream": "stream",
}

// Param returns the member of a chat request that was translated to a field of the service's request, such as
// input.messages[2].content[0].image or parameters.top_p. It is empty if there is none, as for a header.
func Param(field string) string {
	name, rest := conversation.Param(field, members)
	if strings.HasSuffix(rest, ".image") {
		rest += "_url"
	}
	return name + rest
}

// isTextOnly reports whether a value is a list with no other element than "text".
func isTextOnly(value []byte) bool {
	for r := rawjson.Array(value); r.Element(); {
		if !rawjson.IsWord(r.Value(), "text") {
			return false
		}
	}
	return rawjson.Kind(value) == '[' && !rawjson.IsEmpty(value)
}
