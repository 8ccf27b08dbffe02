package openai

// translate writes the service's request. size is the length of the client's body.
func (c *chat) translate(size int, models *Models) (*Request, error) {
	r := &Request{Path: TextPath, Model: string(decoded(c.model)), Stream: c.stream}
	model := models.resolve(r.Model)
	found := surveyMessages(c.messages)
	if found.messages > mostMessages {
		return nil, badRequest("messages", "messages: more than %d were given.", mostMessages)
	}
	if found.images || models.isVision(model) {
		r.Path = MultimodalPath
	}
	if err := c.readOptions(r); err != nil {
		return nil, err
	}
	// The buffer is large enough, so that images are copied only once.
	size += len(model) + 256 + 32*found.messages
	if err := models.room(size); err != nil {
		return nil, err
	}
	b := make([]byte, 0, size)
	b = append(quoted(append(b, `{"model":`...), model), `,"input":{"messages":`...)
	b, err := appendMessages(b, c.messages, r.Path == MultimodalPath)
	if err != nil {
		return nil, err
	}
	b = append(b, `},"parameters":{"result_format":"message"`...)
	b = c.parameters.appendTo(b)
	if c.effort != nil && !c.thinking {
		b = append(b, `,"enable_thinking":`...)
		b = append(b, thinking(c.effort)...)
	}
	if c.stream {
		b = append(b, `,"incremental_output":true`...)
	}
	r.Body = append(b, "}}"...)
	return r, nil
}

// thinking is the value of enable_thinking for a reasoning_effort. The service knows no degrees of effort.
func thinking(effort []byte) string {
	if isWord(effort, "none") {
		return "false"
	}
	return "true"
}

func (c *chat) readOptions(r *Request) (err error) {
	for w := walkObject(c.options); w.member() && err == nil; {
		if string(w.name) == "include_usage" && !absent(w.value) {
			r.Usage, err = boolean("stream_options.include_usage", w.value)
		}
	}
	return err
}

// survey is what must be known of the messages before they are written.
type survey struct {
	messages int
	images   bool // a message has a part of the type image_url
}

// mostMessages is how many messages a chat may have. The gateway refuses requests of more than twice as many members, and each message
// has a role and a content.
const mostMessages = 50_000

func surveyMessages(messages []byte) (found survey) {
	for list := walkArray(messages); found.messages <= mostMessages && list.element(); found.messages++ {
		for message := walkObject(list.value); !found.images && message.member(); {
			if string(message.name) == "content" && kind(message.value) == '[' {
				found.images = hasImage(message.value)
			}
		}
	}
	return found
}

func hasImage(parts []byte) bool {
	for list := walkArray(parts); list.element(); {
		for part := walkObject(list.value); part.member(); {
			if string(part.name) == "type" && isWord(part.value, "image_url") {
				return true
			}
		}
	}
	return false
}
