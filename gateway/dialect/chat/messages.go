package chat

import (
	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// writeMessages writes the messages as turns. They keep their indexes, because refusals name them.
func writeMessages(d *conversation.Draft, messages []byte) error {
	return conversation.Each("messages", messages, func(r *strictjson.Reader) error {
		m := message{draft: d}
		return m.write(r)
	})
}

// message writes one message.
type message struct {
	draft *conversation.Draft
	role  bool // the role was written
}

func (m *message) write(r *strictjson.Reader) error {
	m.draft.Open()
	if err := conversation.Fields(r, "A message", nil, m.member); err != nil {
		return err
	}
	if !m.role {
		return conversation.BadRequest("role", "A message must have a role.")
	}
	m.draft.Close() // an assistant's message with tool calls may have no content
	return nil
}

func (m *message) member(name, value []byte) error {
	switch string(name) {
	case "role":
		return m.readRole(value)
	case "content":
		return writeContent(m.draft, value)
	case "refusal", "function_call", "audio":
		return conversation.BadRequest(string(name), "A message's %s is not supported.", name)
	case "annotations", "parsed": // clients send an answer back with all its members
		return nil
	}
	m.draft.Member(name, value)
	return nil
}

// readRole writes the role in the service's words.
func (m *message) readRole(value []byte) error {
	role := ""
	if rawjson.IsString(value) && len(value) <= conversation.MostWord {
		role = string(rawjson.Decoded(value))
	}
	switch role {
	case "developer":
		role = "system"
	case "system", "user", "assistant", "tool":
	default:
		return conversation.BadRequest("role", "A message's role must be system, developer, user, assistant or tool.")
	}
	m.role = true
	m.draft.Role(role)
	return nil
}

// writeContent writes a message's content.
func writeContent(d *conversation.Draft, value []byte) error {
	switch rawjson.Kind(value) {
	case '"':
		d.Text(value, nil)
		d.EndContent()
		return nil
	case '[':
	default:
		return conversation.BadRequest("content", "A message's content must be a string or an array of parts.")
	}
	d.Say()
	err := conversation.Each("content", value, func(r *strictjson.Reader) error {
		var p part
		return p.write(d, r)
	})
	d.EndContent()
	return err
}

// part is one part of a message's content: a text or an image.
type part struct {
	word   []byte // its type
	text   []byte
	url    []byte
	others conversation.Parameters // such as min_pixels, which the service reads next to an image
}

// read reads the members of a part, which is a text or an image.
func (p *part) read(r *strictjson.Reader) error {
	var object []byte // {url, detail}; the service has no counterpart of detail
	err := conversation.Fields(r, "A part of a content", conversation.Places{{"type", &p.word}, {"text", &p.text}, {"image_url", &object}}, p.other)
	p.url = rawjson.Find(object, "url")
	switch image := rawjson.IsWord(p.word, "image_url"); {
	case err != nil:
		return err
	case image && !rawjson.IsString(p.url):
		return conversation.BadRequest("image_url", "image_url must be an object with a url.")
	case image:
		return nil
	case rawjson.IsWord(p.word, "text") && rawjson.IsString(p.text):
		p.url = nil
		return nil
	case rawjson.IsWord(p.word, "text"):
		return conversation.BadRequest("text", "A part of the type text must have a text.")
	case rawjson.IsString(p.word):
		return conversation.BadRequest("type", "Parts of the type %q are not supported; text and image_url are.", conversation.Brief(rawjson.Inside(p.word)))
	}
	return conversation.BadRequest("type", "A part of a content must have a type.")
}

func (p *part) other(name, value []byte) error {
	p.others.Add(name, value)
	return nil
}

// write reads a part and adds it to the content.
func (p *part) write(d *conversation.Draft, r *strictjson.Reader) error {
	if err := p.read(r); err != nil {
		return err
	}
	for _, other := range p.others {
		switch name := string(other.Name); {
		case !d.Multimodal: // the text path has no place for any
		case name == "image", name == "video", name == "audio":
			return conversation.BadRequest(name, "A part must not have a member %s.", name)
		}
	}
	if p.url != nil {
		d.Picture(p.others, rawjson.Inside(p.url))
	} else {
		d.Text(p.text, p.others)
	}
	return nil
}
