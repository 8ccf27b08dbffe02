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

func (q *request) writeTurns(d *conversation.Draft) error {
	if q.system != nil && !rawjson.IsWord(q.system, "") && !rawjson.IsEmpty(q.system) { // an empty one would only cost tokens
		d.Open()
		d.Role("system")
		if err := eachBlock(d, "system", q.system, func(b block) error { return b.say(d) }); err != nil {
			return err
		}
		d.Close()
	}
	return conversation.Each("messages", q.messages, func(r *strictjson.Reader) error { return writeMessage(d, r) })
}

func writeMessage(d *conversation.Draft, r *strictjson.Reader) error {
	var word, content []byte
	if err := conversation.Fields(r, "A message", conversation.Places{{"role", &word, 0}, {"content", &content, 0}}, nil); err != nil {
		return err
	}
	role, err := conversation.Role(word, "user", "assistant", "system")
	if err != nil {
		return err
	}
	if role == "user" {
		if others, err := writeResults(d, content); err != nil || !others {
			return err
		}
	}
	d.Open()
	d.Role(role)
	err = eachBlock(d, "content", content, func(b block) error {
		switch {
		case role == "assistant" && rawjson.IsWord(b.word, "tool_use"):
			return b.call(d)
		case role == "user" && rawjson.IsWord(b.word, "tool_result"):
			return nil
		}
		return b.say(d)
	})
	d.Close()
	return err
}

// writeResults writes the results of tools in a user's message as turns of their own, before the rest: they answer the calls of the
// turn before. others is false if there is no rest.
func writeResults(d *conversation.Draft, content []byte) (others bool, err error) {
	results := false
	if rawjson.Kind(content) != '[' {
		return true, nil
	}
	err = eachBlock(d, "content", content, func(b block) error {
		if !rawjson.IsWord(b.word, "tool_result") {
			others = true
			return nil
		}
		results = true
		return b.result(d)
	})
	return others || !results, err
}

// eachBlock adds a content to the open turn: a text, or blocks, for each of which it calls take.
func eachBlock(d *conversation.Draft, member string, content []byte, take func(b block) error) error {
	return d.Content(member, content, func(r *strictjson.Reader) error {
		var b block
		err := conversation.Fields(r, "A block of a content", conversation.Places{
			{"type", &b.word, 0},
			{"text", &b.text, 0},
			{"source", &b.source, 0},
			{"id", &b.id, 0},
			{"name", &b.name, 0},
			{"input", &b.input, 0},
			{"tool_use_id", &b.of, 0},
			{"content", &b.content, 0},
		}, nil)
		if err != nil {
			return err
		}
		return take(b)
	})
}

// say writes a text or a picture, and leaves thinking out.
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
		return conversation.BadRequest("type", "Blocks of the type %q are not supported here; text, image, tool_use of the assistant, "+
			"tool_result of the user, "+
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
		err = eachBlock(d, "content", b.content, func(inner block) error { return inner.say(d) })
	}
	d.Close()
	return err
}
