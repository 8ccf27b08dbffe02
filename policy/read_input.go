package policy

// message is what is known of the message being read. Its members come in any order, so it is judged when it ends.
type message struct {
	role, content value
	calls         bool // it has tool_calls
}

// inputMember reads a member of input.
func (r *reader) inputMember(f field) error {
	switch f {
	case fieldMessages:
		return r.messages()
	case fieldPrompt:
		v, err := r.promptText()
		r.req.facts.values[f] = v
		return err
	}
	return r.counted((*reader).skip) // history
}

// counted reads something whose strings are all text for the model.
func (r *reader) counted(read func(*reader) error) error {
	defer func(was bool) { r.counting = was }(r.counting)
	r.counting = true
	return read(r)
}

// countText adds a string to the measure of the input's text.
func (r *reader) countText(t text) {
	r.ascii += t.ascii
	r.wide += t.wide
}

// promptText reads what should be a string of the prompt. Of a string no text is kept: a prompt never appears in a
// message.
func (r *reader) promptText() (value, error) {
	s := r.shape()
	if s != shapeString {
		return value{shape: s}, r.skip()
	}
	t, err := r.string()
	r.countText(t)
	r.req.PromptLength += t.points()
	return value{shape: s, count: int32(t.points())}, err
}

// messages reads input.messages.
func (r *reader) messages() error {
	list := &r.req.facts.values[fieldMessages]
	list.shape = r.shape()
	if list.shape != shapeArray {
		return r.skip()
	}
	err := r.array(func(r *reader) error {
		r.at2 = [2]int32{list.count}
		list.count++
		return r.message()
	})
	r.req.Messages = int(list.count)
	return err
}

// message reads one message.
func (r *reader) message() error {
	if s := r.shape(); s != shapeObject {
		r.mark(markMessage, value{shape: s})
		return r.skip()
	}
	r.msg = message{}
	if err := r.object(placeMessage, (*reader).messageMember); err != nil {
		return err
	}
	r.judgeMessage()
	return nil
}

func (r *reader) messageMember(f field) (err error) {
	switch f {
	case fieldRole:
		r.msg.role, err = r.role()
	case fieldContent:
		r.msg.content, err = r.content()
	case fieldReasoningContent:
		err = r.counted((*reader).skip)
	case fieldToolCalls:
		r.msg.calls = r.shape() == shapeArray
		err = r.toolCalls()
	default:
		err = r.id(f)
	}
	return err
}

// role reads a message's role. One that is unknown is kept for the first offender only, so that a body of a million
// costs no more than a body of one.
func (r *reader) role() (value, error) {
	v := value{shape: r.shape()}
	if v.shape != shapeString {
		return v, r.skip()
	}
	t, err := r.string()
	if err != nil {
		return v, err
	}
	v.text = common(r.src[t.start:t.end])
	if v.text == "" && (t.escaped || r.req.facts.marks[markRole].count == 0) {
		v.text = r.kept(t)
	}
	return v, nil
}

// content reads a message's content: a string, or an array of items.
func (r *reader) content() (value, error) {
	if r.shape() != shapeArray {
		return r.promptText()
	}
	items := int32(0)
	err := r.array(func(r *reader) error {
		r.at2[1] = items
		items++
		return r.item()
	})
	r.at2[1] = 0
	return value{shape: shapeArray}, err
}

// judgeMessage notes what rules may object to in the message that just ended.
func (r *reader) judgeMessage() {
	m := &r.msg
	known := m.role.shape == shapeString && isRole(m.role.text)
	if !known {
		r.mark(markRole, m.role)
	}
	if m.role.text != "user" {
		r.mark(markRoleUser, m.role)
	}
	if m.role.text == "system" {
		r.mark(markSystem, m.role)
	}
	switch m.content.shape {
	case shapeString:
		r.note(markContentText, m.content.shape.String())
	case shapeArray:
		r.mark(markContentList, m.content)
	case shapeAbsent, shapeNull: // an assistant's content is empty beside its tool calls
		if m.role.text != "assistant" {
			r.mark(markContent, m.content)
		}
	default:
		r.mark(markContent, m.content)
	}
}

// isRole reports whether the service knows the role.
func isRole(role string) bool {
	switch role {
	case "system", "user", "assistant", "tool":
		return true
	}
	return false
}

// toolCalls reads the tool calls of an assistant message.
func (r *reader) toolCalls() error {
	if r.shape() != shapeArray {
		return r.skip()
	}
	return r.array(func(r *reader) error {
		return r.nested(placeToolCall, func(r *reader, f field) error {
			if f != fieldFunction {
				return r.id(f)
			}
			return r.nested(placeCallFunction, func(r *reader, f field) error {
				if f == fieldText {
					return r.counted((*reader).skip)
				}
				return r.id(f)
			})
		})
	})
}

// nested reads an object by the function, and anything else by skip.
func (r *reader) nested(p *place, member func(*reader, field) error) error {
	if r.shape() == shapeObject {
		return r.object(p, member)
	}
	return r.skip()
}
