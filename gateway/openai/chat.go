package openai

// Chat translates the body of POST /v1/chat/completions. Its errors are of type [*Refusal]. The result holds no part of the
// body.
func Chat(body []byte, models *Models) (*Request, error) {
	object, err := readRequest(body)
	if err != nil {
		return nil, err
	}
	c := chat{parameters: make(parameters, 0, fewNames)}
	if err := c.read(object); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c.translate(len(object), models)
}

// chat is a chat request. Values are raw.
type chat struct {
	model      []byte
	messages   []byte
	options    []byte // stream_options
	effort     []byte // reasoning_effort
	thinking   bool   // enable_thinking is given, which overrules reasoning_effort
	stream     bool
	limits     int // how many of max_tokens and max_completion_tokens are given
	parameters parameters
}

// read reads the members of the request.
func (c *chat) read(object []byte) (err error) {
	seen := make(names, 0, fewNames)
	for w := walkObject(object); w.member(); {
		if seen, err = seen.add(w.name); err != nil {
			return err
		}
		if absent(w.value) {
			continue
		}
		if err = c.member(w.name, w.value); err != nil {
			return err
		}
	}
	return nil
}

func (c *chat) member(name, value []byte) (err error) {
	switch string(name) {
	case "model":
		c.model = value
	case "messages":
		c.messages = value
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

// check refuses requests that lack a member or combine members in a wrong way.
func (c *chat) check() error {
	switch {
	case !isString(c.model) || len(c.model) == 2:
		return badRequest("model", "model: the name of a model is needed.")
	case boundWord("model", c.model) != nil:
		return boundWord("model", c.model)
	case kind(c.messages) != '[':
		return badRequest("messages", "messages: an array of messages is needed.")
	case c.limits > 1:
		return badRequest("max_tokens", "max_tokens and max_completion_tokens are both given; give one.")
	case c.effort != nil && !isString(c.effort):
		return badRequest("reasoning_effort", "reasoning_effort: a string is needed.")
	case c.options == nil:
		return nil
	case kind(c.options) != '{':
		return badRequest("stream_options", "stream_options: an object is needed.")
	case !c.stream:
		return badRequest("stream_options", "stream_options is only for streams; stream is not true.")
	}
	return nil
}
