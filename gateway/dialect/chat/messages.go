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
		role, err := conversation.Role(value, "system", "developer", "user", "assistant", "tool")
		if err == nil {
			m.role = true
			m.draft.Role(role)
		}
		return err
	case "content":
		return m.draft.Content("content", value, func(r *strictjson.Reader) error { return writePart(m.draft, r) })
	case "refusal", "function_call", "audio":
		return conversation.BadRequest(string(name), "A message's %s is not supported.", name)
	case "annotations", "parsed": // clients send an answer back with all its members
		return nil
	}
	m.draft.Member(name, value)
	return nil
}

// writePart writes a part of a message's content: a text or an image.
func writePart(d *conversation.Draft, r *strictjson.Reader) error {
	var word, text, image []byte
	var others conversation.Parameters // such as min_pixels, which the service reads next to an image
	places := conversation.Places{{"type", &word, '"'}, {"text", &text, 0}, {"image_url", &image, 0}}
	err := conversation.Fields(r, "A part of a content", places, func(name, value []byte) error {
		switch string(name) {
		case "image", "video", "audio":
			if d.Multimodal { // the text path has no place for any
				return conversation.BadRequest(string(name), "A part must not have a member %s.", name)
			}
		}
		others.Add(name, value)
		return nil
	})
	url := rawjson.Find(image, "url") // the service has no counterpart of detail
	switch kind := string(rawjson.Decoded(word)); {
	case err != nil:
		return err
	case word == nil:
		return conversation.BadRequest("type", "A part of a content must have a type.")
	case kind == "image_url" && !rawjson.IsString(url):
		return conversation.BadRequest("image_url", "image_url must be an object with a url.")
	case kind == "image_url":
		d.Picture(others, rawjson.Inside(url))
	case kind != "text":
		return conversation.BadRequest("type", "Parts of the type %q are not supported; text and image_url are.", conversation.Brief(kind))
	case !rawjson.IsString(text):
		return conversation.BadRequest("text", "A part of the type text must have a text.")
	default:
		d.Text(text, others)
	}
	return nil
}
