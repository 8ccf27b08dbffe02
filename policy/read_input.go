package policy

import "sluice/policy/strictjson"

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
	return r.SkipCounting(&r.text) // history
}

// promptText reads what should be a string of the prompt. Of a string no text is kept: a prompt never appears in a
// message.
func (r *reader) promptText() (value, error) {
	s := r.Shape()
	if s != strictjson.String {
		return value{shape: s}, r.Skip()
	}
	t, err := r.String()
	r.text.Add(t.Count)
	r.req.PromptLength += t.Points()
	return value{shape: s, count: int32(t.Points())}, err
}

// messages reads input.messages.
func (r *reader) messages() error {
	list := &r.req.facts.values[fieldMessages]
	list.shape = r.Shape()
	if list.shape != strictjson.Array {
		return r.Skip()
	}
	err := r.Array(func() error {
		r.at2 = [2]int32{list.count}
		list.count++
		return r.message()
	})
	r.req.Messages = int(list.count)
	return err
}

// message reads one message.
func (r *reader) message() error {
	if s := r.Shape(); s != strictjson.Object {
		r.mark(markMessage, value{shape: s})
		return r.Skip()
	}
	r.msg = message{}
	if err := r.Object(placeMessage, r.messageMember); err != nil {
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
		err = r.SkipCounting(&r.text)
	case fieldToolCalls:
		r.msg.calls = r.Shape() == strictjson.Array
		err = r.toolCalls()
	default:
		err = r.id(f)
	}
	return err
}

// role reads a message's role. One that is unknown is kept for the first offender only, so that a body of a million
// costs no more than a body of one.
func (r *reader) role() (value, error) {
	v := value{shape: r.Shape()}
	if v.shape != strictjson.String {
		return v, r.Skip()
	}
	t, err := r.String()
	if err != nil {
		return v, err
	}
	v.text = common(r.Raw(t))
	if v.text == "" && (t.Escaped || r.req.facts.marks[markRole].count == 0) {
		v.text = kept(r.Raw(t), t.Escaped)
	}
	return v, nil
}

// content reads a message's content: a string, or an array of items.
func (r *reader) content() (value, error) {
	if r.Shape() != strictjson.Array {
		return r.promptText()
	}
	items := int32(0)
	err := r.Array(func() error {
		r.at2[1] = items
		items++
		return r.item()
	})
	r.at2[1] = 0
	return value{shape: strictjson.Array}, err
}

// judgeMessage notes what rules may object to in the message that just ended.
func (r *reader) judgeMessage() {
	m := &r.msg
	known := m.role.shape == strictjson.String && isRole(m.role.text)
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
	case strictjson.String:
		r.note(markContentText, m.content.shape.String())
	case strictjson.Array:
		r.mark(markContentList, m.content)
	case strictjson.Absent, strictjson.Null: // an assistant's content is empty beside its tool calls
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
	if r.Shape() != strictjson.Array {
		return r.Skip()
	}
	return r.Array(func() error {
		return r.nested(placeToolCall, func(f field) error {
			if f != fieldFunction {
				return r.id(f)
			}
			return r.nested(placeCallFunction, func(f field) error {
				if f == fieldText {
					return r.SkipCounting(&r.text)
				}
				return r.id(f)
			})
		})
	})
}

// nested reads an object by the function, and anything else by skip.
func (r *reader) nested(p *strictjson.Names, member func(field) error) error {
	if r.Shape() == strictjson.Object {
		return r.Object(p, member)
	}
	return r.Skip()
}
