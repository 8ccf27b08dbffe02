package messages

import (
	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// block is a block of a content, with raw values.
type block struct {
	word, text, source []byte
	id, name, input    []byte // of a call of a tool
	of, content        []byte // of a tool's result: the id of the call, and what it says
}

func (b *block) read(r *strictjson.Reader) error {
	return conversation.Fields(r, "A block of a content", conversation.Places{
		{"type", &b.word},
		{"text", &b.text},
		{"source", &b.source},
		{"id", &b.id},
		{"name", &b.name},
		{"input", &b.input},
		{"tool_use_id", &b.of},
		{"content", &b.content},
	}, nil)
}

func (q *request) writeTurns(d *conversation.Draft) error {
	if q.system != nil {
		d.Open()
		d.Role("system")
		if err := eachBlock("system", q.system, func(b *block) error { return b.say(d) }); err != nil {
			return err
		}
		d.Close()
	}
	return conversation.Each("messages", q.messages, func(r *strictjson.Reader) error { return writeMessage(d, r) })
}

func writeMessage(d *conversation.Draft, r *strictjson.Reader) error {
	var role, content []byte
	if err := conversation.Fields(r, "A message", conversation.Places{{"role", &role}, {"content", &content}}, nil); err != nil {
		return err
	}
	switch {
	case rawjson.IsWord(role, "user"):
		return writeUser(d, content)
	case rawjson.IsWord(role, "assistant"):
		return writeTurn(d, "assistant", content)
	case rawjson.IsWord(role, "system"):
		return writeTurn(d, "system", content)
	}
	return conversation.BadRequest("role", "A message's role must be user, assistant or system.")
}

// writeTurn writes a message as one turn.
func writeTurn(d *conversation.Draft, role string, content []byte) error {
	d.Open()
	d.Role(role)
	err := eachBlock("content", content, func(b *block) error {
		if rawjson.IsWord(b.word, "tool_use") && role == "assistant" {
			return b.call(d)
		}
		return b.say(d)
	})
	d.Close()
	return err
}

// writeUser writes a user's message. The results of tools in it are turns of their own, before the rest: they answer the calls of the
// turn before.
func writeUser(d *conversation.Draft, content []byte) error {
	others, results := false, false
	err := eachBlock("content", content, func(b *block) error {
		if !rawjson.IsWord(b.word, "tool_result") {
			others = true
			return nil
		}
		results = true
		return b.result(d)
	})
	if err != nil || results && !others {
		return err
	}
	d.Open()
	d.Role("user")
	err = eachBlock("content", content, func(b *block) error {
		if rawjson.IsWord(b.word, "tool_result") {
			return nil
		}
		return b.say(d)
	})
	d.Close()
	return err
}

// eachBlock hands over the blocks of a content, which may be a text.
func eachBlock(member string, content []byte, take func(b *block) error) error {
	switch rawjson.Kind(content) {
	case '"':
		return take(&block{word: []byte(`"text"`), text: content})
	case '[':
	default:
		return conversation.BadRequest(member, "%s must be a string or an array of blocks.", member)
	}
	var b block
	return conversation.Each(member, content, func(r *strictjson.Reader) error {
		b = block{}
		if err := b.read(r); err != nil {
			return err
		}
		return take(&b)
	})
}

// say writes a text or a picture. What was thought is left out.
func (b *block) say(d *conversation.Draft) error {
	switch word := rawjson.Decoded(b.word); string(word) {
	case "thinking", "redacted_thinking":
		return nil
	case "image":
		return b.picture(d)
	case "text":
		if !rawjson.IsString(b.text) {
			return conversation.BadRequest("text", "A block of the type text must have a text.")
		}
		d.Text(b.text, nil)
		return nil
	default:
		return conversation.BadRequest("type", "Blocks of the type %q are not supported here; text, image, tool_use of the assistant, tool_result of the user, "+
			"thinking and redacted_thinking are.", conversation.Brief(word))
	}
}

func (b *block) picture(d *conversation.Draft) error {
	kind, url := rawjson.Find(b.source, "type"), rawjson.Find(b.source, "url")
	media, data := rawjson.Find(b.source, "media_type"), rawjson.Find(b.source, "data")
	switch {
	case !d.Multimodal:
		return conversation.BadRequest("type", "Pictures are not supported here.")
	case rawjson.IsWord(kind, "url") && rawjson.IsString(url):
		d.Picture(nil, rawjson.Inside(url))
	case rawjson.IsWord(kind, "base64") && rawjson.IsString(media) && rawjson.IsString(data):
		d.Picture(nil, []byte("data:"), rawjson.Inside(media), []byte(";base64,"), rawjson.Inside(data))
	default:
		return conversation.BadRequest("source", `source: {"type":"base64","media_type","data"} or {"type":"url","url"} is needed.`)
	}
	return nil
}

func (b *block) call(d *conversation.Draft) error {
	switch {
	case !rawjson.IsString(b.id):
		return conversation.BadRequest("id", "A tool_use must have an id.")
	case !rawjson.IsString(b.name):
		return conversation.BadRequest("name", "A tool_use must have a name.")
	case rawjson.Kind(b.input) != '{':
		return conversation.BadRequest("input", "A tool_use must have an input, an object.")
	}
	d.Call(conversation.Call{ID: rawjson.Inside(b.id), Name: rawjson.Inside(b.name), Arguments: rawjson.Inside(rawjson.Quote(nil, b.input))})
	return nil
}

// result writes the result of a tool as a turn.
func (b *block) result(d *conversation.Draft) error {
	if !rawjson.IsString(b.of) {
		return conversation.BadRequest("tool_use_id", "A tool_result must have a tool_use_id.")
	}
	d.Open()
	d.Role("tool")
	d.Member([]byte("tool_call_id"), b.of)
	var err error
	if b.content != nil {
		err = eachBlock("content", b.content, func(inner *block) error { return inner.say(d) })
	}
	d.Close()
	return err
}
