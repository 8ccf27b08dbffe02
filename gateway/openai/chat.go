package openai

import (
	"cmp"

	"sluice/policy/strictjson"
)

// Chat translates the body of POST /v1/chat/completions. Its errors are of type [*Refusal]. The result holds no part of the
// body.
func Chat(body []byte, models *Models) (*Request, error) {
	c := chat{parameters: make(parameters, 0, fewMembers)}
	if err := c.read(body); err != nil {
		return nil, err
	}
	return c.translate(len(body), models)
}

// chat is a chat request, in OpenAI's terms. Values are raw.
type chat struct {
	model      []byte
	messages   []byte
	found      survey // in the messages
	options    []byte // stream_options
	effort     []byte // reasoning_effort
	thinking   bool   // enable_thinking is given, which overrules reasoning_effort
	stream     bool
	usage      bool // stream_options.include_usage
	limits     int  // how many of max_tokens and max_completion_tokens are given
	parameters parameters
}

// read reads a request. It refuses one that lacks a member or combines members in a wrong way. Duplicate members are refused in the
// objects that it reads; all others pass into the service's request, and the gateway refuses them when it reads that, at a bounded cost.
func (c *chat) read(body []byte) error {
	r, err := openRequest(body)
	if err != nil {
		return err
	}
	var seen strictjson.Once
	for err == nil && seen.Next(&r) {
		name, from := r.Name, r.At()
		if string(name) == "messages" {
			c.found = surveyMessages(&r)
			c.messages = r.Since(from)
			continue
		}
		err = c.member(name, r.Value())
	}
	if err := endRequest(&r, cmp.Or(err, refusedName(&seen, r.Name))); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.readOptions()
}

func (c *chat) member(name, value []byte) (err error) {
	switch string(name) {
	case "model":
		c.model = value
	case "stream":
		c.stream, err = boolean("stream", value)
	case "stream_options":
		c.options = value
	case "reasoning_effort":
		c.effort = value
	case "user", "metadata", "store", "service_tier", "safety_identifier", "verbosity",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention":
		// accepted, but not sent to the service
	default:
		return c.parameter(name, value)
	}
	return err
}

// parameter takes a member that is passed on as a parameter of the service, or refuses it.
func (c *chat) parameter(name, value []byte) error {
	switch unsupported, idle := unsupportedInChats(string(name), value); {
	case idle:
		return nil
	case unsupported:
		return badRequest(string(name), "%s is not supported.", name)
	}
	switch string(name) {
	case "input", "result_format", "incremental_output":
		return refuseReserved(string(name))
	case "max_tokens", "max_completion_tokens":
		c.limits++
	case "enable_thinking":
		c.thinking = true
	case "tool_choice":
		if err := checkToolChoice(value); err != nil {
			return err
		}
	}
	c.parameters.add(name, value)
	return nil
}

// unsupportedInChats reports whether the service has no counterpart of a member of chat requests. If idle, the value asks for
// nothing, and the member is dropped instead of refused.
func unsupportedInChats(name string, value []byte) (unsupported, idle bool) {
	switch name {
	case "frequency_penalty":
		return true, isZero(value)
	case "logit_bias", "functions":
		return true, isEmpty(value)
	case "modalities":
		return true, isTextAlone(value)
	case "function_call":
		return true, isWord(value, "none")
	case "audio", "prediction", "moderation", "web_search_options": // an empty web_search_options asks for a search
		return true, false
	}
	return false, false
}

// checkToolChoice refuses all values but those that the service knows: auto, none, or one function.
func checkToolChoice(value []byte) error {
	switch {
	case isWord(value, "auto"), isWord(value, "none"), isWord(find(value, "type"), "function"):
		return nil
	case isString(value):
		return badRequest("tool_choice", `tool_choice: "auto", "none" or a function is allowed; `+
			"the service cannot be forced to call any tool.")
	}
	return badRequest("tool_choice", `tool_choice: "auto", "none" or an object with the type "function" is allowed.`)
}

func (c *chat) check() error {
	if err := checkModel(c.model); err != nil {
		return err
	}
	switch {
	case kind(c.messages) != '[':
		return badRequest("messages", "messages: an array of messages is needed.")
	case c.limits > 1:
		return badRequest("max_tokens", "max_tokens and max_completion_tokens are both given; give one.")
	case c.effort != nil && !isString(c.effort):
		return badRequest("reasoning_effort", "reasoning_effort: a string is needed.")
	case c.options == nil:
	case kind(c.options) != '{':
		return badRequest("stream_options", "stream_options: an object is needed.")
	case !c.stream:
		return badRequest("stream_options", "stream_options is only for streams; stream is not true.")
	}
	return nil
}

func (c *chat) readOptions() (err error) {
	if include := find(c.options, "include_usage"); !absent(include) {
		c.usage, err = boolean("stream_options.include_usage", include)
	}
	return err
}

// translate writes the service's request. size is the length of the client's body.
func (c *chat) translate(size int, models *Models) (*Request, error) {
	r := &Request{Path: TextPath, Model: string(decoded(c.model)), Stream: c.stream, Usage: c.usage}
	model := models.resolve(r.Model)
	if c.found.messages > mostMessages {
		return nil, badRequest("messages", "messages: more than %d were given.", mostMessages)
	}
	if c.found.images || models.isVision(model) {
		r.Path = MultimodalPath
	}
	// The buffer is large enough, so that images are copied only once.
	size += len(model) + 256 + 32*c.found.messages
	if err := models.room(size); err != nil {
		return nil, err
	}
	b := make([]byte, 0, size)
	b = append(quoted(append(b, `{"model":`...), model), `,"input":{"messages":`...)
	b, err := appendMessages(b, c.messages, r.Path == MultimodalPath)
	if err != nil {
		return nil, err
	}
	b = c.parameters.appendTo(append(b, `},"parameters":{"result_format":"message"`...))
	switch { // the service has no degrees of effort
	case c.effort == nil || c.thinking:
	case isWord(c.effort, "none"):
		b = append(b, `,"enable_thinking":false`...)
	default:
		b = append(b, `,"enable_thinking":true`...)
	}
	if c.stream {
		b = append(b, `,"incremental_output":true`...)
	}
	r.Body = append(b, "}}"...)
	return r, nil
}
