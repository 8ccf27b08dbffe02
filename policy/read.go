// Package policy reads requests and says whether the service's own rules allow them.
//
// It reads a request body in one strict pass ([Read]) and judges it by the service's rules, which are a table ([Judge]).
// Comments cite interface.md, the service's description of its requests, which is kept outside the repository.
//
// It performs no I/O, reads no clock and no environment, logs nothing and knows no HTTP types. Whose a request is, and
// what a team may do, is in package teams; what a team may still spend, in package limit.
//
// Equal input gives equal output, a returned value never changes, and everything wrong with an input is reported at once.
package policy

import (
	"slices"
	"strings"

	"sluice/policy/strictjson"
)

// Read reads one body in one strict pass and says what it asks for. It keeps no tree of the body and copies no image.
// The error is a [*strictjson.Error]: the body is not one strict JSON document, so Sluice and upstream could read it
// differently. Whether the service's rules allow the request is [Judge]'s question.
func Read(f *Families, call Call, body []byte) (Request, error) {
	r := newReader(call, body)
	defer r.release()
	if err := r.Document(placeTop, r.topMember); err != nil {
		r.req.Release()
		return Request{}, err
	}
	r.finish(f)
	return r.req, nil
}

func (r *reader) topMember(f field) error {
	switch f {
	case fieldInput:
		return r.into(f, placeInput, r.inputMember)
	case fieldParameters:
		return r.into(f, placeParameters, parameterReader{r}.member)
	}
	model, err := r.identifier()
	r.facts.values[fieldModel] = model
	return err
}

func (r *reader) inputMember(f field) error {
	switch f {
	case fieldMessages:
		return r.messages()
	case fieldPrompt:
		v, err := r.prompt()
		r.facts.values[f] = v
		return err
	}
	return r.SkipCounting(&r.text) // history
}

// finish derives from the facts what the request asks for.
func (r *reader) finish(f *Families) {
	q := &r.req
	q.Model = r.facts.values[fieldModel].text
	r.facts.families = f.of(q.Model)
	q.Interleave = !r.facts.call.Older && r.facts.families.editImage && r.facts.values[fieldEnableInterleave].shape == strictjson.True
	q.Guessed = q.guessed()
	q.Kind = q.kind()
	q.TextLength = int64((r.text.ASCII+asciiPerToken-1)/asciiPerToken) + int64(r.text.Wide) + int64(q.Messages)*messageTokens
	q.countAnswers()
	q.readParameters()
	q.Stream = AcceptsStream(r.facts.call.Accept) ||
		slices.ContainsFunc(r.facts.call.SSE, func(v string) bool { return strings.EqualFold(v, "enable") })
}

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
