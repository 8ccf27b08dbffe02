package openai

import (
	"fmt"
	"strings"
)

// appendMessages appends the messages in the service's form. They keep their indexes, because refusals name them.
func appendMessages(dst, messages []byte, multimodal bool) ([]byte, error) {
	dst = append(dst, '[')
	index := 0
	for list := walkArray(messages); list.element(); index++ {
		m := message{dst: next(dst), multimodal: multimodal}
		if err := m.translate(list.value); err != nil {
			return nil, within(fmt.Sprintf("messages[%d]", index), err)
		}
		dst = m.dst
	}
	return append(dst, ']'), nil
}

// within puts the place of an object before the member that a refusal names.
func within(place string, err error) error {
	r, ok := err.(*Refusal) //nolint:errorlint // the refusals of this package are never wrapped
	if !ok {
		return err
	}
	switch {
	case r.Param == "":
		r.Param = place
	case strings.HasPrefix(r.Param, "["):
		r.Param = place + r.Param
	default:
		r.Param = place + "." + r.Param
	}
	return r
}

// message translates one message.
type message struct {
	dst        []byte
	multimodal bool
	role       bool // the role was written
	content    bool // the content was written
}

func (m *message) translate(value []byte) (err error) {
	if kind(value) != '{' {
		return badRequest("", "A message must be an object.")
	}
	seen := make(names, 0, fewNames)
	m.dst = append(m.dst, '{')
	for w := walkObject(value); w.member(); {
		if seen, err = seen.add(w.name); err != nil {
			return err
		}
		if absent(w.value) {
			continue
		}
		if err = m.member(w.name, w.value); err != nil {
			return err
		}
	}
	if !m.role {
		return badRequest("role", "A message must have a role.")
	}
	if !m.content { // an assistant's message with tool calls has none
		m.dst = append(named(m.dst, "content"), m.noContent()...)
	}
	m.dst = append(m.dst, '}')
	return nil
}

// noContent is what the service gets for a message without content.
func (m *message) noContent() string {
	if m.multimodal {
		return "[]"
	}
	return `""`
}

func (m *message) member(name, value []byte) (err error) {
	switch string(name) {
	case "role":
		return m.readRole(value)
	case "content":
		m.content = true
		m.dst, err = appendContent(named(m.dst, name), value, m.multimodal)
		return err
	case "refusal", "function_call", "audio":
		return badRequest(string(name), "A message's %s is not supported.", name)
	case "annotations", "parsed": // clients send an answer back with all its members
		return nil
	}
	m.dst = append(named(m.dst, name), value...)
	return nil
}

// readRole writes the role in the service's words.
func (m *message) readRole(value []byte) error {
	role := ""
	if isString(value) && len(value) <= mostWord {
		role = string(decoded(value))
	}
	switch role {
	case "developer":
		role = "system"
	case "system", "user", "assistant", "tool":
	default:
		return badRequest("role", "A message's role must be system, developer, user, assistant or tool.")
	}
	m.role = true
	m.dst = quoted(named(m.dst, "role"), role)
	return nil
}
