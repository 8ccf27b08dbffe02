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
	options    []byte             // stream_options
	effort     []byte             // reasoning_effort
	thinking   bool               // enable_thinking is given, which overrules reasoning_effort
	stream     bool
	usage      bool // stream_options.include_usage
	limits     int  // how many of max_tokens and max_completion_tokens are given
	tools      []byte
	choice     int // 1 and the place of tool_choice among the parameters; 0: none
	parameters conversation.Parameters
	warnings   conversation.Warnings
}

// read reads a request. It refuses one that lacks a member or combines members in a wrong way. Duplicate members are refused in the
// objects that it reads; all others pass into the service's request, and the gateway refuses them when it reads that, at a bounded cost.
func (c *chat) read(body []byte) error {
	var stream []byte
	err := conversation.Members(body, conversation.Places{
		{"model", &c.model}, {"messages", &c.messages}, {"stream", &stream}, {"stream_options", &c.options}, {"reasoning_effort", &c.effort},
	}, c.member)
	if err != nil {
		return err
	}
	if c.stream, err = conversation.Boolean("stream", stream); err != nil {
		return err
	}
	c.found = conversation.Survey(c.messages, "image_url")
	if err := c.check(); err != nil {
		return err
	}
	return c.readOptions()
}

func (c *chat) member(name, value []byte) error {
	switch string(name) {
	case "user", "metadata", "store", "service_tier", "safety_identifier", "verbosity",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention":
		return nil // accepted, but not sent to the service
	}
	return c.parameter(name, value)
}

// parameter takes a member that is passed on as a parameter of the service, or refuses it.
func (c *chat) parameter(name, value []byte) error {
	switch unsupported, idle := unsupportedInChats(string(name), value); {
	case idle:
		return nil
	case bends(string(name), value):
		c.warnings.Add(conversation.Dropped(string(name), value))
		return nil
	case unsupported:
		return conversation.BadRequest(string(name), "%s is not supported.", name)
	}
	switch string(name) {
	case "input", "result_format", "incremental_output":
		return conversation.BadRequest(string(name), "%s is not allowed here; it belongs to the service's own interface.", name)
	case "max_tokens", "max_completion_tokens":
		c.limits++
	case "enable_thinking":
		c.thinking = true
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

// bends reports whether a member that the service lacks only bends the style of an answer, so that it is left out with a warning.
func bends(name string, value []byte) bool {
	first := rawjson.Kind(value)
	return name == "frequency_penalty" && (first == '-' || first >= '0' && first <= '9')
}

// unsupportedInChats reports whether the service has no counterpart of a member of chat requests. If idle, the value asks for
// nothing, and the member is dropped instead of refused.
func unsupportedInChats(name string, value []byte) (unsupported, idle bool) {
	switch name {
	case "frequency_penalty":
		return true, rawjson.IsZero(value)
	case "logit_bias", "functions":
		return true, rawjson.IsEmpty(value)
	case "modalities":
		return true, isTextAlone(value)
	case "function_call":
		return true, rawjson.IsWord(value, "none")
	case "audio", "prediction", "moderation", "web_search_options": // an empty web_search_options asks for a search
		return true, false
	}
	return false, false
}

// checkToolChoice refuses all values but auto, none, required, or one function.
func checkToolChoice(value []byte) error {
	switch {
	case rawjson.IsWord(value, "auto"), rawjson.IsWord(value, "none"), rawjson.IsWord(value, "required"),
		rawjson.IsWord(rawjson.Find(value, "type"), "function"):
		return nil
	}
	return conversation.BadRequest("tool_choice", `tool_choice: "auto", "none", "required" or an object with the type "function" is allowed.`)
}

func (c *chat) check() error {
	if err := conversation.CheckModel(c.model); err != nil {
		return err
	}
	switch {
	case rawjson.Kind(c.messages) != '[':
		return conversation.BadRequest("messages", "messages: an array of messages is needed.")
	case c.limits > 1:
		return conversation.BadRequest("max_tokens", "max_tokens and max_completion_tokens are both given; give one.")
	case c.effort != nil && !rawjson.IsString(c.effort):
		return conversation.BadRequest("reasoning_effort", "reasoning_effort: a string is needed.")
	case c.options == nil:
	case rawjson.Kind(c.options) != '{':
		return conversation.BadRequest("stream_options", "stream_options: an object is needed.")
	case !c.stream:
		return conversation.BadRequest("stream_options", "stream_options is only for streams; stream is not true.")
	}
	return nil
}

func (c *chat) readOptions() (err error) {
	if include := rawjson.Find(c.options, "include_usage"); !rawjson.Absent(include) {
		c.usage, err = conversation.Boolean("stream_options.include_usage", include)
	}
	return err
}

// required puts the service's words in place of a choice that requires any call.
func (c *chat) required() error {
	if c.choice == 0 || !rawjson.IsWord(c.parameters[c.choice-1].Value, "required") {
		return nil
	}
	thinks := c.effort != nil && !rawjson.IsWord(c.effort, "none")
	for _, p := range c.parameters {
		if string(p.Name) == "enable_thinking" {
			thinks = string(p.Value) == "true"
		}
	}
	var tools []conversation.Tool
	for r := rawjson.Array(c.tools); r.Element(); {
		tools = append(tools, conversation.Tool{Name: rawjson.Find(rawjson.Find(r.Value(), "function"), "name")})
	}
	if len(tools) == 1 && tools[0].Name == nil {
		return conversation.BadRequest("tools[0].function.name", "tools[0].function.name: a name is needed.")
	}
	var err error
	c.parameters[c.choice-1].Value, err = conversation.Required(tools, thinks, &c.warnings)
	return err
}

// write writes the service's request. size is the length of the client's body.
func (c *chat) write(size int, models *conversation.Models) (*conversation.Request, error) {
	r := &conversation.Request{Model: string(rawjson.Decoded(c.model)), Stream: c.stream, Dialect: &Answer{usage: c.usage}}
	if c.found.Turns > conversation.MostTurns {
		return nil, conversation.BadRequest("messages", "messages: more than %d were given.", conversation.MostTurns)
	}
	if err := c.required(); err != nil {
		return nil, err
	}
	for i := range c.parameters {
		if p := &c.parameters[i]; string(p.Name) == "max_tokens" || string(p.Name) == "max_completion_tokens" {
			p.Value = models.Lower(models.Service(r.Model), string(p.Name), p.Value, &c.warnings)
		}
	}
	d, err := models.Draft(r, c.found.Images, size+256+32*c.found.Turns, 0)
	if err != nil {
		return nil, err
	}
	if err := writeMessages(&d, c.messages); err != nil {
		return nil, err
	}
	d.Parameters()
	d.All(c.parameters)
	if !c.thinking {
		d.Thinking(c.effort)
	}
	r.Body, r.Warnings = d.End(c.stream), c.warnings
	return r, nil
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

// isTextAlone reports whether a value is a list with no other element than "text".
func isTextAlone(value []byte) bool {
	for r := rawjson.Array(value); r.Element(); {
		if !rawjson.IsWord(r.Value(), "text") {
			return false
		}
	}
	return rawjson.Kind(value) == '[' && !rawjson.IsEmpty(value)
}
