package policy

import "sluice/policy/strictjson"

// messages reads input.messages.
func (r *reader) messages() error {
	list := &r.facts.values[fieldMessages]
	list.shape = r.Shape()
	if list.shape != strictjson.Array {
		return r.Skip()
	}
	err := r.Array(func() error {
		r.facts.at = [2]int32{list.count}
		list.count++
		return r.message()
	})
	r.req.Messages = int(list.count)
	return err
}

func (r *reader) message() error {
	if s := r.Shape(); s != strictjson.Object {
		r.facts.mark(markMessage, value{shape: s})
		return r.Skip()
	}
	m := messageReader{reader: r}
	if err := r.Object(placeMessage, m.member); err != nil {
		return err
	}
	m.judge()
	return nil
}

// messageReader reads one message. Its members come in any order, so they are judged when it ends.
type messageReader struct {
	*reader
	role, content value
}

func (m *messageReader) member(f field) (err error) {
	switch f {
	case fieldRole:
		m.role, err = m.readRole()
	case fieldContent:
		m.content, err = m.readContent()
	case fieldReasoningContent:
		err = m.SkipCounting(&m.text)
	case fieldToolCalls:
		err = m.toolCalls()
	default:
		err = m.id(f)
	}
	return err
}

// readRole reads the role. An unknown one is kept only for the first offender, so that a body of a million costs no
// more than a body of one.
func (m *messageReader) readRole() (value, error) {
	v := value{shape: m.Shape()}
	if v.shape != strictjson.String {
		return v, m.Skip()
	}
	t, err := m.String()
	if err != nil {
		return v, err
	}
	v.text = common(m.Raw(t))
	if v.text == "" && (t.Escaped || m.facts.marks[markRole].count == 0) {
		v.text = kept(m.Raw(t), t.Escaped)
	}
	return v, nil
}

// readContent reads the content: a string, or an array of items.
func (m *messageReader) readContent() (value, error) {
	if m.Shape() != strictjson.Array {
		return m.prompt()
	}
	items := int32(0)
	err := m.Array(func() error {
		m.facts.at[1] = items
		items++
		return m.item()
	})
	m.facts.at[1] = 0
	return value{shape: strictjson.Array}, err
}

// toolCalls reads the tool calls of an assistant's message.
func (m *messageReader) toolCalls() error {
	if m.Shape() != strictjson.Array {
		return m.Skip()
	}
	return m.Array(func() error { return m.nested(placeToolCall, m.toolCallMember) })
}

func (m *messageReader) toolCallMember(f field) error {
	if f != fieldFunction {
		return m.id(f)
	}
	return m.nested(placeCallFunction, func(f field) error {
		if f == fieldText {
			return m.SkipCounting(&m.text)
		}
		return m.id(f)
	})
}

// judge notes what rules may object to in the message.
func (m *messageReader) judge() {
	if m.role.shape != strictjson.String || !isRole(m.role.text) {
		m.facts.mark(markRole, m.role)
	}
	if m.role.text != "user" {
		m.facts.mark(markRoleUser, m.role)
	}
	if m.role.text == "system" {
		m.facts.mark(markSystem, m.role)
	}
	switch m.content.shape {
	case strictjson.String:
		m.facts.note(markContentText, m.content.shape.String())
	case strictjson.Array:
		m.facts.mark(markContentList, m.content)
	case strictjson.Absent, strictjson.Null: // an assistant's content is empty beside its tool calls
		if m.role.text != "assistant" {
			m.facts.mark(markContent, m.content)
		}
	default:
		m.facts.mark(markContent, m.content)
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
