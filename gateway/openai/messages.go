package openai

import (
	"fmt"
	"strings"

	"sluice/policy/strictjson"
)

// survey is what must be known of the messages before they are written.
type survey struct {
	messages int
	images   bool // a message has a part of the type image_url
}

// mostMessages is how many messages a chat may have. The gateway refuses requests of more than twice as many members, and each message
// has a role and a content.
const mostMessages = 50_000

func surveyMessages(r *strictjson.Reader) (found survey) {
	for r.Open('['); r.Element(); found.messages++ {
		for r.Open('{'); r.Member(); {
			if string(r.Name) == "content" && r.Kind() == '[' {
				found.images = hasImage(r) || found.images
			}
		}
	}
	return found
}

func hasImage(r *strictjson.Reader) (has bool) {
	for r.Open('['); r.Element(); {
		for r.Open('{'); r.Member(); {
			has = string(r.Name) == "type" && isWord(r.Value(), "image_url") || has
		}
	}
	return has
}

// appendMessages appends the messages in the service's form. They keep their indexes, because refusals name them.
func appendMessages(dst, messages []byte, multimodal bool) ([]byte, error) {
	dst = append(dst, '[')
	index := 0
	for r := array(messages); r.Element(); index++ {
		m := message{dst: append(next(dst), '{'), multimodal: multimodal}
		if err := m.translate(&r); err != nil {
			return nil, within(fmt.Sprintf("messages[%d]", index), err)
		}
		dst = append(m.dst, '}')
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

func (m *message) translate(r *strictjson.Reader) error {
	if r.Kind() != '{' {
		return badRequest("", "A message must be an object.")
	}
	r.Open('{')
	var seen strictjson.Once
	for seen.Next(r) {
		if err := m.member(r.Name, r); err != nil {
			return err
		}
	}
	switch {
	case seen.Fault != "":
		return refusedName(&seen, r.Name)
	case !m.role:
		return badRequest("role", "A message must have a role.")
	case m.content:
	case m.multimodal: // an assistant's message with tool calls has no content
		m.dst = append(m.dst, `,"content":[]`...)
	default:
		m.dst = append(m.dst, `,"content":""`...)
	}
	return nil
}

func (m *message) member(name []byte, r *strictjson.Reader) (err error) {
	switch string(name) {
	case "role":
		return m.readRole(r.Value())
	case "content":
		m.content = true
		m.dst, err = appendContent(named(m.dst, name), r, m.multimodal)
		return err
	case "refusal", "function_call", "audio":
		return badRequest(string(name), "A message's %s is not supported.", name)
	case "annotations", "parsed": // clients send an answer back with all its members
		return nil
	}
	m.dst = append(named(m.dst, name), r.Value()...)
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

// appendContent appends a message's content: a string on the text path, an array of items on the multimodal path.
func appendContent(dst []byte, r *strictjson.Reader, multimodal bool) ([]byte, error) {
	switch {
	case r.Kind() == '"' && multimodal:
		return append(append(append(dst, `[{"text":`...), r.Value()...), "}]"...), nil
	case r.Kind() == '"':
		return append(dst, r.Value()...), nil
	case r.Kind() != '[':
		return nil, badRequest("content", "A message's content must be a string or an array of parts.")
	}
	open, end := `"`, `"`
	if multimodal {
		open, end = "[", "]"
	}
	dst = append(dst, open...)
	index := 0
	for r.Open('['); r.Element(); index++ {
		var p part
		err := p.read(r)
		if err == nil && multimodal {
			dst, err = p.appendItem(dst)
		} else if err == nil {
			dst = append(dst, inside(p.text)...) // an image would have led to the other path
		}
		if err != nil {
			return nil, within(fmt.Sprintf("content[%d]", index), err)
		}
	}
	return append(dst, end...), nil
}

// part is one part of a message's content: a text or an image.
type part struct {
	word   []byte // its type
	text   []byte
	url    []byte
	others parameters // such as min_pixels, which the service reads next to an image
}

// read reads the members of a part, which is a text or an image.
func (p *part) read(r *strictjson.Reader) error {
	if r.Kind() != '{' {
		return badRequest("", "A part of a content must be an object.")
	}
	r.Open('{')
	var seen strictjson.Once
	for seen.Next(r) {
		p.member(r.Name, r)
	}
	switch image := isWord(p.word, "image_url"); {
	case seen.Fault != "":
		return refusedName(&seen, r.Name)
	case image && !isString(p.url):
		return badRequest("image_url", "image_url must be an object with a url.")
	case image:
		return nil
	case isWord(p.word, "text") && isString(p.text):
		p.url = nil
		return nil
	case isWord(p.word, "text"):
		return badRequest("text", "A part of the type text must have a text.")
	case isString(p.word):
		return badRequest("type", "Parts of the type %q are not supported; text and image_url are.", brief(inside(p.word)))
	}
	return badRequest("type", "A part of a content must have a type.")
}

func (p *part) member(name []byte, r *strictjson.Reader) {
	switch string(name) {
	case "type":
		p.word = r.Value()
	case "text":
		p.text = r.Value()
	case "image_url": // {url, detail}; the service has no counterpart of detail
		for r.Open('{'); r.Member(); {
			if string(r.Name) == "url" {
				p.url = r.Value()
			}
		}
	default:
		p.others.add(name, r.Value())
	}
}

// appendItem appends the part as an item of the multimodal path.
func (p *part) appendItem(dst []byte) ([]byte, error) {
	dst = next(dst)
	if p.url != nil {
		dst = append(append(dst, `{"image":`...), p.url...)
	} else {
		dst = append(append(dst, `{"text":`...), p.text...)
	}
	for _, other := range p.others {
		switch name := string(other.name); name {
		case "image", "video", "audio":
			return nil, badRequest(name, "A part must not have a member %s.", name)
		}
	}
	return append(p.others.appendTo(dst), '}'), nil
}
