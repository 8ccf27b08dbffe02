package openai

import (
	"fmt"
	"strings"
)

// appendMessages appends the messages in the service's form: each has its place, so that a fault can be told by it.
func appendMessages(dst, messages []byte, multimodal bool) ([]byte, error) {
	dst = append(dst, '[')
	index := 0
	for list := walkArray(messages); list.element(); index++ {
		m := message{dst: next(dst), multimodal: multimodal}
		if err := m.translate(list.value); err != nil {
			return nil, at(fmt.Sprintf("messages[%d]", index), err)
		}
		dst = m.dst
	}
	return append(dst, ']'), nil
}

// at puts the place of an object before the member that a refusal names.
func at(place string, err error) error {
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

// message is one message on its way.
type message struct {
	dst        []byte
	multimodal bool
	role       bool // it has one
	content    bool // it has some
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
	if !m.content { // as that of an assistant beside its tool calls
		m.dst = append(named(m.dst, "content"), m.none()...)
	}
	m.dst = append(m.dst, '}')
	return nil
}

// none is the content of a message that has none.
func (m *message) none() string {
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
	case "annotations", "parsed": // an assistant's, sent back as it came
		return nil
	}
	m.dst = append(named(m.dst, name), value...)
	return nil
}

// readRole writes the role, which the service knows by its own word.
func (m *message) readRole(value []byte) error {
	role := ""
	if isString(value) {
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
